// Which folder of data/ a process writes to: `<device>_<pid>`, unless that belongs to somebody else. Pids repeat in
// containers, and nodes share storage.
//
// A folder comes into being under a hidden name with its owner file already in it and is then renamed, so a folder
// without an owner file is never one of ours. The owner file names boot, pid namespace, pid and start time, which
// together no two processes share.
#pragma once

#include <string>

namespace atbprobe {

// Makes or finds this process's own folder in the folder open as `data_folder`. `*claimed` becomes `name`, after the
// folder of a dead owner was moved aside to `name`.old<n>, or `name`.<n> if the owner may be alive.
// `*is_new` says whether the folder was made for this call. Returns 0 or an errno.
int claim_process_folder(int data_folder, const std::string& name, std::string* claimed, bool* is_new);

}  // namespace atbprobe
