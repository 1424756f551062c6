// Decodes 50 tokens over one stream and prints their ids: what a worker's loop does.
//
// Usage: decode ADDRESS ROWS.safetensors
//
// ADDRESS is unix:PATH or HOST:PORT. The library asks for the server's limits, tries again after
// UNAVAILABLE and when a full server says when it will have room, and keeps the deadline.
#include <chrono>
#include <iostream>
#include <span>
#include <string>

#include "client/client.h"
#include "rows.h"
#include "tokendraw/v1/sampling.pb.h"

namespace {

constexpr int kSteps = 50;

// The next step of the sequence whose output is in `request`.
void NextStep(const Rows& rows, tokendraw::v1::SampleTokensRequest& request) {
  const int step = request.rows(0).output_ids_size();
  request.set_step(step);
  request.mutable_rows(0)->set_position(step);
  const auto row = std::as_bytes(std::span(rows.rows[step % rows.rows.size()]));
  tokendraw::SetInlineLogits(row, tokendraw::v1::DATA_TYPE_F32, rows.vocab_size, 1,
                             *request.mutable_logits());
}

int Decode(const std::string& address, const Rows& rows) {
  const auto client =
      tokendraw::Client::Create({.addresses = {address}, .deadline = std::chrono::seconds(60)});
  if (!client.ok()) {
    std::cerr << client.status() << "\n";
    return 1;
  }
  tokendraw::v1::SampleTokensRequest request;
  tokendraw::v1::SamplingParams& params = *request.add_params();
  params.set_temperature(0.8);
  params.set_typical_p(0.9);
  params.set_xtc_probability(0.5);
  params.set_xtc_threshold(0.1);
  params.set_repetition_penalty(1.1F);
  tokendraw::v1::RowSpec& row = *request.add_rows();
  row.set_seed(42);

  const auto stream = (*client)->OpenStream();
  while (row.output_ids_size() < kSteps) {
    NextStep(rows, request);
    const auto reply = stream->Step(request);
    if (!reply.ok()) {
      std::cerr << reply.status() << "\n";
      return 1;
    }
    if (reply->row_errors_size() > 0) {
      std::cerr << reply->row_errors(0).message() << "\n";
      return 1;
    }
    row.add_output_ids(reply->token_ids(0));
  }
  for (int i = 0; i < kSteps; ++i) std::cout << (i ? " " : "") << row.output_ids(i);
  std::cout << "\n";
  return stream->Finish().ok() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: decode ADDRESS ROWS.safetensors\n";
    return 2;
  }
  const auto rows = ReadRows(argv[2]);
  if (!rows) {
    std::cerr << argv[2] << " has no whole tensor logits\n";
    return 1;
  }
  return Decode(argv[1], *rows);
}
