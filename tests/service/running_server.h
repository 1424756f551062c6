// A real server on a socket file, in the process of the test.
#ifndef TOKENDRAW_TESTS_SERVICE_RUNNING_SERVER_H_
#define TOKENDRAW_TESTS_SERVICE_RUNNING_SERVER_H_

#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "service/server.h"
#include "tests/service/temp_dir.h"
#include "tokendraw/v1/sampling.grpc.pb.h"

namespace tokendraw {

// Says nothing.
inline Log& QuietLog() {
  static Log* const log = new Log({.log_requests = "none"}, stderr);
  return *log;
}

class RunningServer {
 public:
  explicit RunningServer(Options options = {}) {
    options.listen = {"unix:" + dir_.path() + "/s"};
    absl::StatusOr<std::unique_ptr<Server>> started = Server::Start(options, QuietLog());
    EXPECT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
  }

  Server& operator*() { return *server_; }
  Server* operator->() { return server_.get(); }
  std::string address() const { return server_->addresses().front(); }

  // A connection of its own.
  std::shared_ptr<grpc::Channel> NewChannel() const {
    grpc::ChannelArguments args;
    args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(address(), grpc::InsecureChannelCredentials(), args);
  }
  std::unique_ptr<v1::SamplingService::Stub> NewStub() const {
    return v1::SamplingService::NewStub(NewChannel());
  }

 private:
  TempDir dir_;
  std::unique_ptr<Server> server_;
};

}  // namespace tokendraw

#endif  // TOKENDRAW_TESTS_SERVICE_RUNNING_SERVER_H_
