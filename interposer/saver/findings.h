// What the bytes of a tensor tell.
#pragma once

#include "anomalies.h"
#include "saver.h"
#include "statistics.h"

namespace atbprobe {

struct Findings {
    Statistics statistics;
    Anomalies anomalies;
};

Findings find_in(const TensorCall& call);

// Whether find_in takes less time than to copy the data: then the model's thread does it at once where nothing else is
// wanted of the data, instead of queueing a copy.
bool is_found_faster_than_copied(const TensorCall& call);

}  // namespace atbprobe
