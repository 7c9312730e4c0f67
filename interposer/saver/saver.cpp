#include "saver.h"

#include "held_tensors.h"
#include "tensor_saver.h"

namespace atbprobe {

void saver_announce() {
    with_saver({}, [](TensorSaver* saver) { saver->announce(); });
}

void save_tensor(const TensorCall& call, const SaveOrder& given) {
    SaveOrder order = given;
    if ((order.tasks & (kTaskTensor | kTaskStatistics)) == 0) return;
    const TensorPath path = parse_tensor_path(call.path);
    if (path.kind == PathKind::kIgnored) return;
    with_saver(call.path, [&](TensorSaver* saver) {
        if (path.kind == PathKind::kBad) {
            saver->losses()->count(LossReason::kBadPath, 0, call.path);
            return;
        }
        if (order.filter_level == kFilterKernels && is_kernel(path.operations)) order.tasks &= ~kTaskTensor;
        TensorCall readable = call;
        if (call.data == nullptr || order.tasks == 0) readable.bytes = 0;
        saver->save(SaveItem::Kind::kTensor, readable, order, saver->rows()->enter(path.round));
    });
}

void save_param(std::string_view json, std::string_view path) {
    with_saver(path, [&](TensorSaver* saver) {
        if (parse_param_path(path).kind == PathKind::kBad) {
            saver->losses()->count(LossReason::kBadPath, 0, path);
            return;
        }
        TensorCall call{};
        call.data = json.data();
        call.bytes = json.size();
        call.path = path;
        saver->save(SaveItem::Kind::kParam, call, {}, nullptr);
    });
}

void saver_drain() {
    TensorSaver::close();
    if (TensorSaver::get_if_made() == nullptr) return;
    with_saver({}, [](TensorSaver* saver) { saver->drain(); });
}

void saver_after_fork_in_child() {
    forget_held_memory();
    TensorSaver::forget();
}

}  // namespace atbprobe
