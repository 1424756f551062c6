// A project outside the tree: everything that it includes comes from the installed package.
#include <cstddef>
#include <iostream>
#include <span>

#include "client/candidates.h"
#include "client/client.h"
#include "client/memory.h"
#include "tokendraw/v1/sampling.pb.h"

int main() {
  tokendraw::KeepFreedMemory();
  const float row[] = {1, 2, 3};
  tokendraw::v1::SampleTokensRequest request;
  tokendraw::SetInlineLogits(std::as_bytes(std::span(row)), tokendraw::v1::DATA_TYPE_F32, 3, 1,
                             *request.mutable_logits());
  const auto client =
      tokendraw::Client::Create({.addresses = {"unix:nobody.sock"}, .wait_for_ready = false});
  if (!client.ok()) return 1;
  const absl::Status unary = (*client)->SampleTokens(request).status();
  const absl::Status streamed = (*client)->OpenStream()->Step(request).status();
  const absl::Status buffer = (*client)->CreateRowBuffer(sizeof(row)).status();
  tokendraw::SetCandidates(std::as_bytes(std::span(row)), tokendraw::v1::DATA_TYPE_F32, 3, 1, 0, 2,
                           *request.mutable_logits());
  std::cout << unary << "\n" << streamed << "\n" << buffer << "\n" << request.DebugString();
  return absl::IsUnavailable(unary) && absl::IsUnavailable(streamed) &&
                 absl::IsUnavailable(buffer) && request.logits().candidates().rows_size() == 1
             ? 0
             : 1;
}
