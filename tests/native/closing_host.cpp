// A host that closes every descriptor from 3 on while it dumps, and opens files of its own, which get their numbers.
// Commands, a line each on stdin; each answers one line on stdout:
//
//     save FIRST COUNT ELEMENTS    saves the input of so many operations from FIRST on; answers `done`
//     close FOLDER                 closes them all, opens kFiles files and FOLDER itself; answers `done`
//     check                        answers `whole` if each of them is still open and as it was, else `changed`
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "saving_steps.h"

namespace {

constexpr int kDescriptors = 256;
constexpr size_t kFiles = 64;

struct OwnFile {
    int descriptor;
    struct stat opened;
    std::string text;  // empty for a folder
};

std::vector<OwnFile> g_files;

void open_own(const std::string& path, int flags, const std::string& text) {
    OwnFile file{open(path.c_str(), flags, 0600), {}, text};
    const bool is_written = write(file.descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    if (file.descriptor < 0 || (!text.empty() && !is_written) || fstat(file.descriptor, &file.opened) != 0) {
        std::abort();
    }
    g_files.push_back(file);
}

void close_all(const std::string& folder) {
    for (int descriptor = 3; descriptor < kDescriptors; ++descriptor) close(descriptor);
    g_files.clear();
    for (size_t number = 0; number < kFiles; ++number) {
        const std::string text = "the host's own file " + std::to_string(number) + "\n";
        // As our rows are appended, so is a log.
        const int appends = number % 2 == 0 ? O_APPEND : 0;
        open_own(folder + "/" + std::to_string(number), O_RDWR | O_CREAT | O_EXCL | appends, text);
        open_own(folder, O_RDONLY | O_DIRECTORY, "");
    }
}

bool is_as_it_was(const OwnFile& file) {
    struct stat now;
    if (fstat(file.descriptor, &now) != 0 || now.st_ino != file.opened.st_ino || now.st_dev != file.opened.st_dev) {
        return false;
    }
    if (file.text.empty()) return true;
    std::string text(file.text.size() + 1, '\0');
    const ssize_t size = pread(file.descriptor, text.data(), text.size(), 0);
    const bool has_moved = lseek(file.descriptor, 0, SEEK_CUR) != static_cast<off_t>(file.text.size());
    return size == static_cast<ssize_t>(file.text.size()) && text.compare(0, file.text.size(), file.text) == 0 &&
           !has_moved;
}

const char* carry_out(const std::string& line) {
    std::istringstream words(line);
    std::string command;
    words >> command;
    if (command == "save") {
        uint32_t first = 0;
        uint32_t count = 0;
        size_t elements = 0;
        words >> first >> count >> elements;
        for (uint32_t number = first; number < first + count; ++number) {
            if (!save_input(0, number, elements)) return "refused";
        }
        return "done";
    }
    if (command == "close") {
        std::string folder;
        words >> folder;
        close_all(folder);
        return "done";
    }
    for (const OwnFile& file : g_files) {
        if (!is_as_it_was(file)) return "changed";
    }
    return g_files.empty() ? "none" : "whole";
}

}  // namespace

int main() {
    for (std::string line; std::getline(std::cin, line);) {
        std::printf("%s\n", carry_out(line));
        std::fflush(stdout);
    }
    return 0;
}
