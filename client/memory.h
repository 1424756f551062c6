// A setting for processes that send many large messages.
#ifndef TOKENDRAW_CLIENT_MEMORY_H_
#define TOKENDRAW_CLIENT_MEMORY_H_

namespace tokendraw {

// glibc gives large freed blocks back to the kernel, and the next message page-faults them in
// again: ten times slower at 39 MB a message. After this call the process keeps them, as many as it
// once had in use. For a worker's main, before there are threads; the library never calls it.
void KeepFreedMemory();

}  // namespace tokendraw

#endif  // TOKENDRAW_CLIENT_MEMORY_H_
