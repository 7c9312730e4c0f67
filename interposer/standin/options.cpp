#include "options.h"

#include <getopt.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <utility>

namespace atbprobe::standin {

namespace {

constexpr const char* kUsage =
    "usage: standin_model_abi{0,1} [OPTION]...\n"
    "\n"
    "Runs a small decoder-only transformer on a CPU stand-in for ATB. It calls a preloaded probe exactly as "
    "the\n"
    "real library does. Every number depends on the options and the seed only, never on the probe.\n"
    "\n"
    "how long:\n";

struct Option {
    const char* name;
    const char* argument;  // null: a switch
    const char* help;
    std::function<bool(const char* value)> apply;  // false: the value is wrong
};

bool parse_number(const char* text, int64_t least, int64_t most, int64_t& number) {
    char* end = nullptr;
    errno = 0;
    const long long value = std::strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < least || value > most) {
        return false;
    }
    number = value;
    return true;
}

std::function<bool(const char*)> number(int64_t& target, int64_t least, int64_t most = 1'000'000) {
    return [&target, least, most](const char* text) { return parse_number(text, least, most, target); };
}

std::function<bool(const char*)> set(bool& target) {
    return [&target](const char*) {
        target = true;
        return true;
    };
}

std::function<bool(const char*)> text(std::string& target) {
    return [&target](const char* value) {
        target = value;
        return !target.empty();
    };
}

std::function<bool(const char*)> data_type(DataType& target, std::vector<std::pair<const char*, DataType>> choices) {
    return [&target, choices = std::move(choices)](const char* name) {
        for (const auto& [choice, dtype] : choices) {
            if (std::string(choice) == name) {
                target = dtype;
                return true;
            }
        }
        return false;
    };
}

bool parse_devices(const std::string& list, std::vector<int32_t>& devices) {
    devices.clear();
    for (size_t begin = 0; begin <= list.size();) {
        const size_t end = std::min(list.find(',', begin), list.size());
        int64_t device = 0;
        if (!parse_number(list.substr(begin, end - begin).c_str(), 0, std::numeric_limits<int32_t>::max(), device)) {
            return false;
        }
        devices.push_back(static_cast<int32_t>(device));
        begin = end + 1;
    }
    return true;
}

std::vector<Option> option_table(Options& options) {
    ModelOptions& model = options.model;
    const std::vector<std::pair<const char*, DataType>> floats{
        {"f16", DataType::kFloat16}, {"bf16", DataType::kBfloat16}, {"float", DataType::kFloat}};
    return {
        {"steps", "N", "steps to run, the first of a request being a prefill (8)",
         [&options](const char* value) {
             int64_t steps = 0;
             const bool good = parse_number(value, 0, std::numeric_limits<int64_t>::max(), steps);
             options.steps = static_cast<uint64_t>(steps);
             return good;
         }},
        {"forever", nullptr, "run until SIGTERM or SIGINT, then end cleanly", set(options.forever)},
        {"control", nullptr,
         "run on command: prints `ready PID`, then reads `step N`, `report`,\n"
         "                             `quit` from stdin and answers `done TOTAL` to each step, the report, "
         "or ends",
         set(options.control)},
        {"interval-ms", "N", "pause between steps, as the pace of a real device (0)", number(options.interval_ms, 0)},
        {"threads", "N", "independent contexts, each a model of its own on its own thread (1)",
         number(options.threads, 1, 256)},
        {"steps-in-turn", "N",
         "first steps of each context, run one context after the other: ids of\n"
         "                             operations are the same in every run then (0)",
         number(options.steps_in_turn, 0)},
        {"device", "N[,N...]", "device of the process; of a list, context i gets the i-th (0)",
         [&options](const char* value) { return parse_devices(value, options.devices); }},
        {"layers", "N", "decoder layers (2)", number(model.layers, 1, 1000)},
        {"hidden", "N", "width (64)", number(model.hidden, 1)},
        {"feed-forward", "N", "width of the feed-forward part (128)", number(model.feed_forward, 1)},
        {"heads", "N", "attention heads (4)", number(model.heads, 1)},
        {"vocabulary", "N", "tokens known (256)", number(model.vocabulary, 2)},
        {"prompt-tokens", "N", "length of a prompt (8)", number(model.prompt_tokens, 1, 4096)},
        {"request-length", "N", "steps until the next prompt (32)", number(model.request_length, 1, 4096)},
        {"always-prefill", nullptr, "every step is a prefill of the first prompt, without a cache",
         set(model.always_prefill)},
        {"seed", "N", "of weights and prompts (1)",
         [&model](const char* value) {
             int64_t seed = 0;
             const bool good = parse_number(value, 0, std::numeric_limits<int64_t>::max(), seed);
             model.seed = static_cast<uint64_t>(seed);
             return good;
         }},
        {"dtype", "f16|bf16|float", "weights and activations (f16)", data_type(model.dtype, floats)},
        {"bf16-layer", "N", "layer N computes in bf16, between two casts",
         [&model](const char* value) {
             int64_t layer = 0;
             const bool good = parse_number(value, 0, 999, layer);
             model.bfloat16_layer = layer;
             return good;
         }},
        {"logits", "f16|bf16|float", "output of the LM head (float)", data_type(model.logits, floats)},
        {"token-ids", "int32|int64", "input of the embedding (int64)",
         data_type(model.token_ids, {{"int32", DataType::kInt32}, {"int64", DataType::kInt64}})},
        {"plain-names", nullptr, "file names without parameter names, as releases before May 2026",
         [&model](const char*) {
             model.style.parameter_names = false;
             return true;
         }},
        {"plugin-operations", nullptr, "plug-in operations in place of built-in ones with kernels",
         set(model.style.plugins)},
        {"attention-name", "NAME", "name of the self-attention plug-in; may hold anything",
         text(model.style.attention_name)},
        {"setups-per-execute", "N", "Setup calls before each Execute (1)", number(model.setups_per_execute, 1)},
        {"executes-per-setup", "N", "Execute calls after the Setups (1)", number(model.executes_per_setup, 1)},
        {"execute-on-other-thread", nullptr, "Execute on a thread of its own", set(model.execute_on_other_thread)},
        {"fault", "OP[:KIND][@ROUND]",
         "put a fault into an output, from that round on; OP is an id path, a\n"
         "                             name or a path, KIND is nan, inf or scale=FACTOR (nan)",
         [&options](const char* value) {
             options.fault = Fault::parse(value);
             return options.fault.has_value();
         }},
        {"expect", "DIR",
         "write what was really computed to DIR: for each file a probe may save,\n"
         "                             its bare data with .raw behind the name, and tensors.jsonl",
         text(options.expect_dir)},
        {"report", "FILE", "at the end, write one line of JSON with counts; - is stdout", text(options.report_file)},
        {"quiet", nullptr, "no line per step", set(options.quiet)},
    };
}

void print_help(const std::vector<Option>& table) {
    std::fputs(kUsage, stdout);
    for (const Option& option : table) {
        const std::string name = std::string(option.name);
        if (name == "threads") {
            std::fputs("\nwhere:\n", stdout);
        } else if (name == "layers") {
            std::fputs("\nwhat:\n", stdout);
        } else if (name == "plain-names") {
            std::fputs("\nhow the host behaves:\n", stdout);
        } else if (name == "fault") {
            std::fputs("\nfor experiments and tests:\n", stdout);
        }
        const std::string left = "--" + name + (option.argument == nullptr ? "" : std::string(" ") + option.argument);
        std::printf("  %-26s %s\n", left.c_str(), option.help);
    }
    std::puts("  --help                     this text");
}

bool consistent(const ModelOptions& model) {
    if (model.hidden % model.heads != 0) {
        std::fputs("standin_model: --hidden must be a multiple of --heads\n", stderr);
        return false;
    }
    if (model.bfloat16_layer && *model.bfloat16_layer >= model.layers) {
        std::fputs("standin_model: --bf16-layer is no layer of the model\n", stderr);
        return false;
    }
    return true;
}

}  // namespace

ParseOutcome parse_options(int argc, char** argv, Options& options) {
    const std::vector<Option> table = option_table(options);
    std::vector<option> long_options;
    long_options.reserve(table.size() + 2);
    for (const Option& entry : table) {
        long_options.push_back({entry.name, entry.argument == nullptr ? no_argument : required_argument, nullptr, 0});
    }
    long_options.push_back({"help", no_argument, nullptr, 0});
    long_options.push_back({nullptr, 0, nullptr, 0});

    int index = 0;
    for (int found = 0; (found = getopt_long(argc, argv, "", long_options.data(), &index)) != -1;) {
        if (found != 0) {
            return ParseOutcome::kUsageError;
        }
        if (static_cast<size_t>(index) == table.size()) {
            print_help(table);
            return ParseOutcome::kHelpShown;
        }
        const Option& entry = table[static_cast<size_t>(index)];
        if (!entry.apply(optarg)) {
            std::fprintf(stderr, "standin_model: --%s: wrong value `%s`, expected %s\n", entry.name, optarg,
                         entry.argument);
            return ParseOutcome::kUsageError;
        }
    }
    if (optind != argc) {
        std::fprintf(stderr, "standin_model: unexpected argument `%s`\n", argv[optind]);
        return ParseOutcome::kUsageError;
    }
    return consistent(options.model) ? ParseOutcome::kRun : ParseOutcome::kUsageError;
}

}  // namespace atbprobe::standin
