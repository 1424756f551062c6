// Tokens that no machine, compiler or instruction set may change.
#ifndef TOKENDRAW_TESTS_GOLDEN_GOLDEN_H_
#define TOKENDRAW_TESTS_GOLDEN_GOLDEN_H_

#include <string>
#include <vector>

namespace tokendraw::golden {

// The lines of tokens.txt below its header, as this machine computes them:
//   row V | parameters | seed position | token ids | kept counts | hash of the kept ids
std::vector<std::string> Lines();

}  // namespace tokendraw::golden

#endif  // TOKENDRAW_TESTS_GOLDEN_GOLDEN_H_
