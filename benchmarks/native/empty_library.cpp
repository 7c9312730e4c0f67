// What a preloaded library costs a process at least, whatever is in it.
extern "C" int atbprobe_nothing() { return 0; }
