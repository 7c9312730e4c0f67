// standin_model: the stand-in host as a program. See --help.
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>

#include "options.h"
#include "session.h"

namespace {

using namespace atbprobe::standin;

std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set from a signal handler");

// Destroyed by exit(), after main: the probe's functions are called until the very end of a real host too.
std::unique_ptr<Session> session;

// Closing stdin ends a wait for the next command, even one that begins just after the signal.
void request_stop(int) {
    stop_requested = true;
    close(STDIN_FILENO);
}

// Without SA_RESTART, so that a signal ends a read or a pause at once.
void install_signal_handlers() {
    struct sigaction action = {};
    action.sa_handler = request_stop;
    sigaction(SIGTERM, &action, nullptr);
    sigaction(SIGINT, &action, nullptr);
}

bool write_report(const std::string& file, const std::string& json) {
    if (file.empty()) {
        return true;
    }
    if (file == "-") {
        std::printf("%s\n", json.c_str());
        return std::fflush(stdout) == 0;
    }
    std::FILE* out = std::fopen(file.c_str(), "w");
    if (out == nullptr) {
        std::fprintf(stderr, "standin_model: cannot write %s\n", file.c_str());
        return false;
    }
    std::fprintf(out, "%s\n", json.c_str());
    return std::fclose(out) == 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        Options options;
        switch (parse_options(argc, argv, options)) {
            case ParseOutcome::kHelpShown:
                return 0;
            case ParseOutcome::kUsageError:
                return 2;
            case ParseOutcome::kRun:
                break;
        }
        install_signal_handlers();
        session = std::make_unique<Session>(options);
        session->run(stop_requested);
        return write_report(options.report_file, session->report_json()) ? 0 : 1;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "standin_model: %s\n", error.what());
        return 1;
    }
}
