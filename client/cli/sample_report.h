// The table that `tokendraw sample` prints.
#ifndef TOKENDRAW_CLIENT_CLI_SAMPLE_REPORT_H_
#define TOKENDRAW_CLIENT_CLI_SAMPLE_REPORT_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "tokendraw/v1/sampling.pb.h"

namespace tokendraw::cli {

// One line for each draw, then one for each row without a token. `rows` gives the number to print
// for each row of the reply; `vocab` may be empty: no texts. Columns that only some calls ask for
// are left out where no draw has them.
void PrintReport(const v1::SampleTokensResponse& reply, const std::vector<std::int64_t>& rows,
                 const std::vector<std::string>& vocab, std::ostream& out);

// "NOT_FINITE".
std::string CodeName(v1::RowErrorCode code);

}  // namespace tokendraw::cli

#endif  // TOKENDRAW_CLIENT_CLI_SAMPLE_REPORT_H_
