#include "model_names.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace atbprobe {
namespace {

struct ModelName {
    ModelName* next;
    size_t length;

    char* text() { return reinterpret_cast<char*>(this + 1); }
};

// Only ever grows, at its head; without a lock, which a fork could leave taken. A process has a handful of models.
std::atomic<ModelName*> g_names{nullptr};

bool is_listed(ModelName* from, std::string_view model) {
    while (from != nullptr && model != std::string_view(from->text(), from->length)) from = from->next;
    return from != nullptr;
}

}  // namespace

bool is_new_model(std::string_view model) {
    ModelName* head = g_names.load(std::memory_order_acquire);
    if (is_listed(head, model)) return false;
    auto* name = static_cast<ModelName*>(malloc(sizeof(ModelName) + model.size()));
    if (name == nullptr) return true;
    name->length = model.size();
    memcpy(name->text(), model.data(), model.size());
    do {
        if (is_listed(head, model)) {
            free(name);
            return false;
        }
        name->next = head;
    } while (!g_names.compare_exchange_weak(head, name, std::memory_order_acq_rel));
    return true;
}

}  // namespace atbprobe
