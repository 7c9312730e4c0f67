// Finds the references in a round's folder and the files that they name.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace atbprobe {

class RoundScan {
  public:
    struct Reference {
        std::string file;  // below the round's folder
        std::string to;
    };

    // Reads the headers of all files below the folder open as `round`. 0 or an errno.
    int read(int round);

    const std::vector<Reference>& references() const { return references_; }

    // The file with data that a reference names; null if there is none.
    const std::string* find(const std::string& reference) const;

  private:
    int read_folder(int parent, const char* name, const std::string& path);
    void read_file(int folder, const char* name, const std::string& path);

    std::string head_;  // of the file at hand
    std::vector<Reference> references_;
    std::map<std::string, std::string> files_;
};

}  // namespace atbprobe
