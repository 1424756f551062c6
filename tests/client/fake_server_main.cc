// A fake server that can be killed: fake_server ADDRESS [STEP]. Prints "ready" when it serves, and
// "stuck" when a message of step STEP comes, which it never answers.
#include <cstdlib>
#include <future>
#include <iostream>

#include "tests/client/fake_server.h"

int main(int argc, char** argv) {
  const std::int64_t stuck_at = argc > 2 ? std::atoll(argv[2]) : -1;
  std::promise<void> promise;
  const std::shared_future<void> never = promise.get_future().share();
  tokendraw::FakeService service;
  const auto answer = service.answer;
  service.answer = [&](const tokendraw::v1::SampleTokensRequest& request,
                       tokendraw::v1::SampleTokensResponse& response) {
    if (request.step() == stuck_at) {
      std::cout << "stuck" << std::endl;
      never.wait();
    }
    return answer(request, response);
  };
  const tokendraw::FakeServer server(service, argv[1]);
  std::cout << "ready" << std::endl;
  never.wait();
}
