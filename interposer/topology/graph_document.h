// The files of info/ from the reports of the host: tensor ids become names.
//
// Every operation has a list of tensors: its inputs, its outputs, its internals. A layer names its own
// `<opName>_input_<i>`, `<opName>_output_<i>` and `<opName>_internal_<i>`; the ids of a child stand for tensors of its
// parent's list and so give it names that lead up to the layer, and from there, in the file of a model, to the names
// that the model uses.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace atbprobe {

// No document is larger: names are repeated, and a report can ask for any number of them.
inline constexpr size_t kMaxDocument = size_t{128} << 20U;

// Both return null, or why there is no document; both may throw std::bad_alloc.

// `name` is what the host reported the graph under.
const char* layer_document(std::string_view name, std::string_view graph, std::string* document);

struct ModelDocument {
    std::string text;
    size_t nodes = 0;                  // each of them has a number, whatever it is
    std::vector<std::string> missing;  // layers of which no graph is known
};

// The report of a layer, or an empty text as long as there is none.
using LayerGraphs = std::function<std::string_view(const std::string& name)>;

// Nodes are numbered from `first_number`; a node called `X` stands for the layer `X_<number>`.
const char* model_document(std::string_view graph, size_t first_number, const LayerGraphs& layers,
                           ModelDocument* document);

}  // namespace atbprobe
