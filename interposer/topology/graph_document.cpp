#include "graph_document.h"

#include <charconv>
#include <deque>
#include <utility>

#include "json_tree.h"

namespace atbprobe {
namespace {

constexpr const char* kTooLarge = "its names would fill more than 128 MiB";

// More than an operation can have, and few enough to be counted off.
constexpr size_t kMaxTensors = size_t{1} << 16U;

using Tensors = std::vector<std::string_view>;

// What is not a number of tensors counts as none.
size_t tensor_count(const JsonNode* value) {
    if (value == nullptr || !value->is(JsonNode::Kind::kInteger)) return 0;
    size_t count = 0;
    const std::string_view text = value->text;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), count);
    return read.ec == std::errc() && count <= kMaxTensors ? count : 0;
}

const JsonNode* next_object(const JsonNode* node) {
    while (node != nullptr && !node->is(JsonNode::Kind::kObject)) node = node->next;
    return node;
}

const JsonNode* first_of_array(const JsonNode* value) {
    return value != nullptr && value->is(JsonNode::Kind::kArray) ? value->first : nullptr;
}

std::string_view string_or(const JsonNode* value, std::string_view otherwise) {
    return value != nullptr && value->is(JsonNode::Kind::kString) ? value->text : otherwise;
}

// A foreign operation calls its name `name`. A view of nothing if it has none at all.
std::string_view name_of(const JsonNode& operation) {
    return string_or(operation.member("opName"), string_or(operation.member("name"), {}));
}

// Writes operations of one document.
class OperationWriter {
  public:
    explicit OperationWriter(std::string* text) : text_(text) {}

    // A comma, unless it is the first thing in its container.
    void separate() {
        if (!text_->empty() && text_->back() != '{' && text_->back() != '[') *text_ += ',';
    }

    void write_head(const JsonNode& operation, std::string_view name) {
        if (name.data() != nullptr) {
            write_key("opName");
            append_json_string(name, text_);
        }
        for (const char* key : {"opType", "param"}) {
            const JsonNode* value = operation.member(key);
            if (value == nullptr) continue;
            write_key(key);
            append_json(*value, text_);
        }
    }

    void write_names(const char* key, const Tensors& names) {
        if (names.empty()) return;
        write_key(key);
        *text_ += '[';
        for (const std::string_view name : names) {
            separate();
            append_json_string(name, text_);
            if (is_too_large()) return;
        }
        *text_ += ']';
    }

    // `<operation>_<role>_<i>` for i from 0.
    Tensors made_names(std::string_view operation, const char* role, size_t count) {
        Tensors names;
        const std::string start = std::string(operation) + "_" + role + "_";
        for (size_t i = 0; i < count && start.size() * i <= kMaxDocument; ++i) {
            names.push_back(made_.emplace_back(start + std::to_string(i)));
        }
        return names;
    }

    // The internal tensors and the children of an operation with these inputs and outputs, and all below.
    void write_inside(const JsonNode& operation, std::string_view name, Tensors tensors) {
        std::vector<Level> levels;
        enter(operation, name, std::move(tensors), &levels);
        while (!levels.empty() && !is_too_large()) {
            const JsonNode* child = levels.back().child;
            if (child == nullptr) {
                levels.pop_back();
                *text_ += ']';
                if (!levels.empty()) *text_ += '}';
                continue;
            }
            levels.back().child = next_object(child->next);
            if (!write_child(*child, &levels)) *text_ += '}';
        }
    }

    bool is_too_large() const { return text_->size() > kMaxDocument; }

  private:
    // The children of an operation that are not written yet, and the tensors that their ids stand for.
    struct Level {
        const JsonNode* child;
        Tensors tensors;
    };

    void write_key(std::string_view key) {
        separate();
        append_json_key(key, text_);
    }

    // True if there are children, which are then the last of `levels`.
    bool enter(const JsonNode& operation, std::string_view name, Tensors tensors, std::vector<Level>* levels) {
        const Tensors internals = made_names(name, "internal", tensor_count(operation.member("internalTensorNum")));
        write_names("internalTensors", internals);
        tensors.insert(tensors.end(), internals.begin(), internals.end());
        const JsonNode* child = next_object(first_of_array(operation.member("nodes")));
        if (child == nullptr) return false;
        write_key("nodes");
        *text_ += '[';
        levels->push_back({child, std::move(tensors)});
        return true;
    }

    // Without the closing brace if it returns true: its children are still to come.
    bool write_child(const JsonNode& child, std::vector<Level>* levels) {
        const std::string_view name = name_of(child);
        separate();
        *text_ += '{';
        write_head(child, name);
        Tensors tensors;
        const Tensors& parents = levels->back().tensors;
        // An id that stands for nothing ends what is known of this operation; guesses would be worse.
        if (!write_tensors("inTensors", child.member("inTensorIds"), parents, &tensors)) return false;
        if (!write_tensors("outTensors", child.member("outTensorIds"), parents, &tensors)) return false;
        return enter(child, name, std::move(tensors), levels);
    }

    bool write_tensors(const char* key, const JsonNode* ids, const Tensors& parents, Tensors* tensors) {
        Tensors names;
        bool are_all_known = true;
        for (const JsonNode* id = first_of_array(ids); id != nullptr && are_all_known; id = id->next) {
            size_t index = parents.size();
            if (id->is(JsonNode::Kind::kInteger)) {
                std::from_chars(id->text.data(), id->text.data() + id->text.size(), index);
            }
            are_all_known = index < parents.size();
            if (are_all_known) names.push_back(parents[index]);
        }
        write_names(key, names);
        tensors->insert(tensors->end(), names.begin(), names.end());
        return are_all_known;
    }

    std::string* text_;
    std::deque<std::string> made_;
};

// The model's names for the tensors of a layer; for those that it does not name, the layer's.
void name_as_model(const JsonNode* model_names, Tensors* names) {
    const JsonNode* model_name = first_of_array(model_names);
    for (std::string_view& name : *names) {
        if (model_name == nullptr) return;
        name = string_or(model_name, name);
        model_name = model_name->next;
    }
}

void append_inside_of_layer(const JsonNode& node, const JsonNode& layer, std::string_view layer_name,
                            std::string* text) {
    OperationWriter writer(text);
    const std::string_view own_name = string_or(layer.member("opName"), layer_name);
    Tensors tensors = writer.made_names(own_name, "input", tensor_count(layer.member("inTensorNum")));
    Tensors outputs = writer.made_names(own_name, "output", tensor_count(layer.member("outTensorNum")));
    name_as_model(node.member("inTensors"), &tensors);
    name_as_model(node.member("outTensors"), &outputs);
    tensors.insert(tensors.end(), outputs.begin(), outputs.end());
    writer.write_inside(layer, own_name, std::move(tensors));
}

void append_model_node(const JsonNode& node, size_t number, const LayerGraphs& layers, ModelDocument* document) {
    std::string* text = &document->text;
    const JsonNode* name = node.member("opName");
    if (name == nullptr || !name->is(JsonNode::Kind::kString)) {
        append_json(node, text);
        return;
    }
    const std::string layer_name = std::string(name->text) + "_" + std::to_string(number);
    OperationWriter writer(text);
    const auto append_member = [&](std::string_view key, std::string_view value) {
        writer.separate();
        append_json_key(key, text);
        append_json_string(value, text);
    };
    *text += '{';
    for (const JsonNode* member = node.first; member != nullptr; member = member->next) {
        if (member->key == "opName") {
            append_member("opName", layer_name);
        } else if (member->key == "opType") {
            append_member("opType", name->text);
        } else {
            writer.separate();
            append_json_key(member->key, text);
            append_json(*member, text);
        }
    }
    if (node.member("opType") == nullptr) append_member("opType", name->text);
    const std::string_view graph = layers(layer_name);
    if (graph.empty()) {
        document->missing.push_back(layer_name);
    } else if (node.member("nodes") == nullptr && node.member("internalTensors") == nullptr) {
        JsonTree layer;
        if (layer.parse(graph) == nullptr) append_inside_of_layer(node, layer.root(), layer_name, text);
    }
    *text += '}';
}

}  // namespace

const char* layer_document(std::string_view name, std::string_view graph, std::string* document) {
    JsonTree tree;
    const char* problem = tree.parse(graph);
    if (problem != nullptr) return problem;
    const JsonNode& layer = tree.root();
    if (!layer.is(JsonNode::Kind::kObject)) return "not a JSON object";
    const std::string_view own_name = string_or(layer.member("opName"), name);
    OperationWriter writer(document);
    *document += '{';
    writer.write_head(layer, own_name);
    Tensors tensors = writer.made_names(own_name, "input", tensor_count(layer.member("inTensorNum")));
    const Tensors outputs = writer.made_names(own_name, "output", tensor_count(layer.member("outTensorNum")));
    writer.write_names("inTensors", tensors);
    writer.write_names("outTensors", outputs);
    tensors.insert(tensors.end(), outputs.begin(), outputs.end());
    writer.write_inside(layer, own_name, std::move(tensors));
    *document += "}\n";
    return writer.is_too_large() ? kTooLarge : nullptr;
}

const char* model_document(std::string_view graph, size_t first_number, const LayerGraphs& layers,
                           ModelDocument* document) {
    JsonTree tree;
    const char* problem = tree.parse(graph);
    if (problem != nullptr) return problem;
    const JsonNode& model = tree.root();
    if (!model.is(JsonNode::Kind::kObject)) return "not a JSON object";
    std::string* text = &document->text;
    *text += '{';
    for (const JsonNode* member = model.first; member != nullptr; member = member->next) {
        if (member != model.first) *text += ',';
        append_json_key(member->key, text);
        if (member->key != "nodes" || !member->is(JsonNode::Kind::kArray)) {
            append_json(*member, text);
            continue;
        }
        *text += '[';
        for (const JsonNode* node = member->first; node != nullptr; node = node->next) {
            if (node != member->first) *text += ',';
            append_model_node(*node, first_number + document->nodes, layers, document);
            ++document->nodes;
            if (text->size() > kMaxDocument) return kTooLarge;
        }
        *text += ']';
    }
    *text += "}\n";
    return nullptr;
}

}  // namespace atbprobe
