// Writes the reported graphs to `info/layer/<device>_<pid>/` and `info/model/<device>_<pid>/`.
//
// A layer's file is written once. A model's is written as soon as the model is known and again when layers come that
// it did not have; but a large one not for each of its layers: only when the last one has come, when their number has
// doubled, or at the end.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "reported_graphs.h"
#include "saver/output_tree.h"

namespace atbprobe {

class GraphFiles {
  public:
    // What failed before is tried again.
    enum class Retry { kNo, kYes };

    // Brings the files up to all graphs reported so far. May throw std::bad_alloc.
    void write_new(Retry retry);

    // As write_new, and no file of a model is left behind its layers.
    void finish();

  private:
    struct Entry {
        const ReportedGraph* graph = nullptr;
        bool is_due = true;
        bool has_failed = false;

        // Of a model.
        bool is_numbered = false;
        size_t first_number = 0;
        std::set<std::string, std::less<>> missing;
        size_t layers = 0;      // that its file has
        size_t new_layers = 0;  // that its file should have
        size_t bytes_written = 0;
    };

    void take_new_graphs();
    void tell_models(std::string_view layer);
    void write_due(Retry retry);
    void write(Entry* entry);
    const char* document_of(Entry* entry, std::string* document);
    bool write_file(const ReportedGraph& graph, const std::string& document);

    std::mutex mutex_;
    OutputTree layers_{"info/layer"};
    OutputTree models_{"info/model"};
    const ReportedGraph* taken_ = nullptr;  // the latest of those in entries_
    std::vector<Entry> entries_;
    std::map<std::string_view, const ReportedGraph*, std::less<>> layer_graphs_;
    size_t next_number_ = 0;  // of the next model's first node
};

}  // namespace atbprobe
