#include "client/unix_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>

#include "client/client.h"
#include "tests/client/fake_server.h"

namespace tokendraw {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(UnixPathTest, IsWhatFollowsTheScheme) {
  EXPECT_EQ(UnixPath("unix:a/b"), "a/b");
  EXPECT_EQ(UnixPath("unix:/a/b"), "/a/b");
  EXPECT_EQ(UnixPath("unix:///a/b"), "/a/b");
  EXPECT_EQ(UnixPath("unix:"), "");
  EXPECT_EQ(UnixPath("localhost:1"), std::nullopt);
  EXPECT_EQ(UnixPath("unix-abstract:a"), std::nullopt);
}

// Bytes that may be sent before anybody reads them, as the kernel counts them: twice.
int SendBufferBytes(int socket) {
  int bytes = 0;
  socklen_t length = sizeof(bytes);
  EXPECT_EQ(getsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, &length), 0);
  return bytes;
}

TEST(ConnectUnixSocketTest, HasALargeSendBuffer) {
  int most = 0;
  std::ifstream("/proc/sys/net/core/wmem_max") >> most;
  const TempDir dir;
  FakeService service;
  const FakeServer server(service, dir.Socket("s"));
  const absl::StatusOr<int> socket = ConnectUnixSocket(dir.File("s"));
  ASSERT_TRUE(socket.ok()) << socket.status();
  EXPECT_EQ(SendBufferBytes(*socket), 2 * std::min(1 << 20, most));
  close(*socket);
}

TEST(ConnectUnixSocketTest, NobodyIsUnavailableWithThePath) {
  const TempDir dir;
  const absl::Status missing = ConnectUnixSocket(dir.File("s")).status();
  EXPECT_TRUE(absl::IsUnavailable(missing)) << missing;
  EXPECT_THAT(std::string(missing.message()),
              AllOf(HasSubstr(dir.File("s")), HasSubstr("No such")));
  std::ofstream(dir.File("file")) << "";
  const absl::Status refused = ConnectUnixSocket(dir.File("file")).status();
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("refused"));
}

TEST(ConnectUnixSocketTest, AFullQueueIsUnavailableAtOnce) {
  const TempDir dir;
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  dir.File("s").copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(listener, 0), 0);
  const absl::StatusOr<int> first = ConnectUnixSocket(dir.File("s"));
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_TRUE(absl::IsUnavailable(ConnectUnixSocket(dir.File("s")).status()));
  close(*first);
  close(listener);
}

TEST(ConnectUnixSocketTest, APathThatIsTooLongIsRefused) {
  EXPECT_TRUE(absl::IsUnavailable(ConnectUnixSocket(std::string(107, 'x')).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ConnectUnixSocket(std::string(108, 'x')).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ConnectUnixSocket("").status()));
}

// One that is idle when its server is replaced, too.
TEST(UnixClientTest, ConnectsAnewAfterItsServer) {
  const TempDir dir;
  FakeService services[5];
  const auto client = *Client::Create({.addresses = {dir.Socket("s")}});
  for (FakeService& service : services) {
    const FakeServer server(service, dir.Socket("s"));
    for (int step = 0; step < 3; ++step) {
      const auto response = client->SampleTokens(SmallRequest(step));
      ASSERT_TRUE(response.ok()) << response.status();
      EXPECT_EQ(response->step(), step);
    }
    EXPECT_EQ(service.calls, 3);
  }
}

TEST(UnixClientTest, KeepsOneConnection) {
  const TempDir dir;
  FakeService service;
  const FakeServer server(service, dir.Socket("s"));
  const auto client = *Client::Create({.addresses = {dir.Socket("s")}});
  for (int step = 0; step < 10; ++step) ASSERT_TRUE(client->SampleTokens(SmallRequest(step)).ok());
  EXPECT_EQ(service.infos, 1);
}

}  // namespace
}  // namespace tokendraw
