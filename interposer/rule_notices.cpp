#include "rule_notices.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>

#include "clock_nanoseconds.h"
#include "log.h"
#include "process_counters.h"
#include "program_evaluator.h"

namespace atbprobe {
namespace {

// Rules that somebody changes many times a second must not fill the model's log: some notices at once, then one a
// second. The clock of the notices may run ahead of time by no more than that many.
constexpr uint64_t kNoticesAtOnce = 16;
std::atomic<uint64_t> g_notice_clock{0};

std::atomic<bool> g_others_are_known{false};

bool may_tell() {
    const uint64_t now = clock_nanoseconds(CLOCK_MONOTONIC_COARSE);
    uint64_t clock = g_notice_clock.load(std::memory_order_relaxed);
    uint64_t next = 0;
    do {
        next = std::max(clock, now) + kNanosecondsPerSecond;
        if (next > now + kNoticesAtOnce * kNanosecondsPerSecond) return false;
    } while (!g_notice_clock.compare_exchange_weak(clock, next, std::memory_order_relaxed));
    return true;
}

// `rule 2`, or `rules attention, 3`; of many only the first ones.
struct RuleList {
    char text[256];
};

// How much of a name is shown; no character is cut in two.
int shown_length(const char* name, uint32_t length) {
    constexpr uint32_t kMost = 80;
    if (length <= kMost) return static_cast<int>(length);
    uint32_t shown = kMost;
    while (shown != 0 && (static_cast<unsigned char>(name[shown]) & 0xc0U) == 0x80U) --shown;
    return static_cast<int>(shown);
}

RuleList list_rules(const ProgramView& program, uint64_t rules) {
    RuleList list;
    constexpr size_t kRoomForRest = 24;
    constexpr size_t kRoom = sizeof(list.text) - kRoomForRest;
    constexpr size_t kMarks = sizeof(", ...");
    auto used = static_cast<size_t>(
        snprintf(list.text, sizeof(list.text), "%s", (rules & (rules - 1)) == 0 ? "rule" : "rules"));
    for (const char* separator = " "; rules != 0; rules &= rules - 1, separator = ", ") {
        const RuleNameRecord& record = program.rule_names.records[__builtin_ctzll(rules)];
        const char* name = program.text + record.text_offset;
        const int shown = shown_length(name, record.text_length);
        if (used + static_cast<size_t>(shown) + kMarks >= kRoom) {
            snprintf(list.text + used, kRoomForRest, "%sand %d more", separator, __builtin_popcountll(rules));
            break;
        }
        used += static_cast<size_t>(snprintf(list.text + used, kRoom - used, "%s%.*s%s", separator, shown, name,
                                             static_cast<uint32_t>(shown) < record.text_length ? "..." : ""));
    }
    return list;
}

uint64_t rules_without_hit(const ProgramView& program) {
    const ProcessCounters& counters = process_counters();
    // A rule with a condition may wait for it for as long as it takes.
    uint64_t without = program.program->enabled_rules & ~program.conditional_rules;
    for (uint64_t rules = without; rules != 0; rules &= rules - 1) {
        const auto rule = static_cast<uint32_t>(__builtin_ctzll(rules));
        if (counters.hits[rule].load(std::memory_order_relaxed) != 0) without &= ~(rules & -rules);
    }
    return without;
}

}  // namespace

void tell_rules_for_other_devices(const Program& program, const char* dir, size_t length) {
    DirState root;
    if (!read_root(program.view, dir, length, &root) || program.has_told_devices.exchange(true)) return;
    const uint64_t others = program.view.program->enabled_rules & ~root.by_device;
    // Said again only after rules that leave no device out: an edit of something else is no news of this.
    const bool is_known = g_others_are_known.exchange(others != 0, std::memory_order_relaxed);
    if (others == 0 || is_known || !may_tell()) return;
    program.told_rules.store(others, std::memory_order_relaxed);
    constexpr size_t kMostDigits = 20;
    const size_t digits = strcspn(dir, "_");
    log_message(
        LogLevel::kWarning, "this process runs on device %.*s, which %s %s not for: nothing is selected by %s here",
        static_cast<int>(digits < kMostDigits ? digits : kMostDigits), dir, list_rules(program.view, others).text,
        (others & (others - 1)) == 0 ? "is" : "are", (others & (others - 1)) == 0 ? "it" : "them");
}

void tell_idle_rules(const Program& program, const RoundsSeen& rounds) {
    if (program.has_told_idle.exchange(true)) return;
    const ProgramView& view = program.view;
    const uint64_t idle = rules_without_hit(view) & ~program.told_rules.load(std::memory_order_relaxed);
    const uint64_t in_time = idle & rounds.rules;
    const uint64_t too_late = idle & ~rules_from_round(view, rounds.lowest);
    if (in_time != 0 && may_tell()) {
        log_message(LogLevel::kWarning,
                    "%s: no operation was selected in %llu steps of the model; `atbprobe-rules explain` tells what a "
                    "rule selects",
                    list_rules(view, in_time).text, static_cast<unsigned long long>(kStepsUntilIdle));
    }
    if (too_late != 0 && may_tell()) {
        log_message(LogLevel::kWarning,
                    "%s: no round is left, since every operation is at round %llu or beyond; with `next` in place of "
                    "`exec_range` the rounds count from the edit",
                    list_rules(view, too_late).text, static_cast<unsigned long long>(rounds.lowest));
    }
}

void tell_condition_met(const Program& program, uint64_t rules, std::string_view path) {
    const uint64_t first = program.budgets->take_untold_kept(rules);
    if (first == 0 || !may_tell()) return;
    log_message(LogLevel::kWarning,
                "%s: condition met by %.*s; its operation is kept, and so are others that meet it, without a word",
                list_rules(program.view, first).text, static_cast<int>(path.size()), path.data());
}

void tell_ended_rules(const Program& program) {
    const uint64_t ended = program.budgets->ended() & program.view.program->enabled_rules;
    if (ended == 0) return;
    const uint64_t first = program.budgets->take_untold_ended(ended);
    if (first == 0 || !may_tell()) return;
    log_message(LogLevel::kWarning,
                "%s: ended, since enough was kept; nothing more is selected by %s until the next edit",
                list_rules(program.view, first).text, (first & (first - 1)) == 0 ? "it" : "them");
}

}  // namespace atbprobe
