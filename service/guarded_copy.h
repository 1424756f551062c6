// Copies out of a mapped file that another process may cut short at any time.
#ifndef TOKENDRAW_SERVICE_GUARDED_COPY_H_
#define TOKENDRAW_SERVICE_GUARDED_COPY_H_

#include <cstddef>
#include <span>

namespace tokendraw {

// Copies `from` to `to`, which has room for it. False if a page of `from` is not there any more;
// what `to` then holds is undefined. Takes SIGBUS for the process the first time; one that no copy
// caused does what it did before.
bool GuardedCopy(std::span<const std::byte> from, std::byte* to);

}  // namespace tokendraw

#endif  // TOKENDRAW_SERVICE_GUARDED_COPY_H_
