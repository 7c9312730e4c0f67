// Whether a file system takes what is written into memory, to bring it to its disk later.
#pragma once

namespace atbprobe {

// Of the file system of the open folder. False where a write may wait for another process or machine, and where one
// cannot know.
bool writes_into_memory(int folder);

}  // namespace atbprobe
