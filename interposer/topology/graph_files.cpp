#include "graph_files.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "graph_document.h"
#include "log.h"
#include "saver/disk_name.h"
#include "saver/whole_file.h"

namespace atbprobe {
namespace {

constexpr std::string_view kExtension = ".json";

// Up to this much is written for one model without asking whether it is worth it.
constexpr size_t kCheapRewrites = size_t{8} << 20U;

LogOnce g_said_unusable;
LogOnce g_said_unwritten;

std::string process_folder(int32_t device) {
    const std::string pid = std::to_string(getpid());
    return device < 0 ? pid : std::to_string(device) + "_" + pid;
}

// A name is one component of a path, whatever is in it.
std::string file_name(std::string_view name) {
    std::string component;
    for (const char character : name) {
        if (character == '/') {
            component += "%2F";
        } else {
            component += character;
        }
    }
    return disk_name(component, kExtension.size()).append(kExtension);
}

}  // namespace

void GraphFiles::write_new(Retry retry) {
    const std::lock_guard<std::mutex> lock(mutex_);
    take_new_graphs();
    write_due(retry);
}

void GraphFiles::finish() {
    const std::lock_guard<std::mutex> lock(mutex_);
    take_new_graphs();
    for (Entry& entry : entries_) entry.is_due = entry.is_due || entry.new_layers > 0;
    write_due(Retry::kNo);
}

void GraphFiles::take_new_graphs() {
    const ReportedGraph* latest = latest_reported_graph();
    const auto first_new = static_cast<std::ptrdiff_t>(entries_.size());
    for (const ReportedGraph* graph = latest; graph != taken_; graph = graph->earlier) {
        Entry entry;
        entry.graph = graph;
        entries_.push_back(std::move(entry));
    }
    std::reverse(entries_.begin() + first_new, entries_.end());
    taken_ = latest;
    for (auto entry = entries_.begin() + first_new; entry != entries_.end(); ++entry) {
        if (entry->graph->kind != GraphKind::kLayer) continue;
        layer_graphs_.emplace(entry->graph->name, entry->graph);
        tell_models(entry->graph->name);
    }
}

void GraphFiles::tell_models(std::string_view layer) {
    for (Entry& model : entries_) {
        const auto missing = model.missing.find(layer);
        if (missing == model.missing.end()) continue;
        model.missing.erase(missing);
        ++model.new_layers;
        if (model.missing.empty() || model.new_layers >= model.layers || model.bytes_written < kCheapRewrites) {
            model.is_due = true;
        }
    }
}

void GraphFiles::write_due(Retry retry) {
    for (Entry& entry : entries_) {
        if (entry.is_due && (!entry.has_failed || retry == Retry::kYes)) write(&entry);
    }
}

void GraphFiles::write(Entry* entry) {
    const ReportedGraph& graph = *entry->graph;
    std::string document;
    const char* problem = graph.name.empty() ? "it has no name" : document_of(entry, &document);
    if (problem != nullptr) {
        entry->is_due = false;
        log_once(g_said_unusable, LogLevel::kWarning,
                 "no file in info/ for a graph: %s; more such graphs are not said one by one: %.*s", problem,
                 static_cast<int>(graph.name.size()), graph.name.data());
        return;
    }
    entry->has_failed = !write_file(graph, document);
    if (entry->has_failed) return;
    entry->is_due = false;
    entry->layers += entry->new_layers;
    entry->new_layers = 0;
    entry->bytes_written += document.size();
}

const char* GraphFiles::document_of(Entry* entry, std::string* document) {
    const ReportedGraph& graph = *entry->graph;
    if (graph.kind == GraphKind::kLayer) return layer_document(graph.name, graph.json, document);
    if (!entry->is_numbered) entry->first_number = next_number_;
    const auto layer_graph = [this](const std::string& name) {
        const auto known = layer_graphs_.find(name);
        return known == layer_graphs_.end() ? std::string_view() : known->second->json;
    };
    ModelDocument model;
    const char* problem = model_document(graph.json, entry->first_number, layer_graph, &model);
    if (!entry->is_numbered) next_number_ += model.nodes;
    entry->is_numbered = true;
    entry->missing.clear();
    entry->missing.insert(model.missing.begin(), model.missing.end());
    *document = std::move(model.text);
    return problem;
}

bool GraphFiles::write_file(const ReportedGraph& graph, const std::string& document) {
    FolderCursor folder(graph.kind == GraphKind::kLayer ? &layers_ : &models_);
    const std::string name = file_name(graph.name);
    int error = folder.open(process_folder(graph.device));
    if (error == 0) {
        Progress nobody_waits{0};
        const iovec text{const_cast<char*>(document.data()), document.size()};
        error = write_whole_file(folder.descriptor(), name, text, {nullptr, 0}, &nobody_waits);
    }
    if (error == 0) return true;
    char text[96];
    log_once(g_said_unwritten, LogLevel::kError, "cannot write %s to info/: %s; it is tried again with the next rules",
             name.c_str(), strerror_r(error, text, sizeof text));
    return false;
}

}  // namespace atbprobe
