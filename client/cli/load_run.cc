#include "client/cli/load_run.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <span>
#include <thread>

#include "client/candidates.h"

namespace tokendraw::cli {
namespace {

using Clock = std::chrono::steady_clock;

// FNV-1a, a value at a time.
std::uint64_t Mix(std::uint64_t hash, std::uint64_t value) {
  return (hash ^ value) * 0x100000001B3;
}

// Twelve likely tokens above noise, as a model's rows are.
void FillRows(const LoadPlan& plan, int worker, std::span<std::byte> bytes) {
  std::mt19937_64 random(plan.seed * 1000003 + static_cast<std::uint64_t>(worker));
  std::normal_distribution<float> noise(0, 2);
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(float)) {
    const float logit = noise(random) + (random() % plan.vocab_size < 12 ? 12.0f : 0.0f);
    std::memcpy(&bytes[at], &logit, sizeof(logit));
  }
}

class Worker {
 public:
  Worker(const LoadPlan& plan, int number, std::shared_ptr<RowBuffer> buffer, Client& client,
         LoadResult& result)
      : plan_(plan),
        number_(number),
        buffer_(std::move(buffer)),
        stream_(client.OpenStream()),
        result_(result) {}

  void Run() {
    MakeRequest();
    const Clock::time_point start = Clock::now();
    for (std::int64_t step = 0; plan_.steps == 0 || step < plan_.steps; ++step) {
      if (plan_.steps == 0 && Clock::now() - start >= plan_.duration) break;
      if (plan_.rate > 0) {
        const std::chrono::duration<double> due(static_cast<double>(step) / plan_.rate);
        std::this_thread::sleep_until(start + std::chrono::duration_cast<Clock::duration>(due));
      }
      Step(step);
    }
    (void)stream_->Finish();
    result_.AddTokens(hash_);
  }

 private:
  void MakeRequest() {
    FillRows(plan_, number_, buffer_->bytes());
    *request_.add_params() = plan_.params;
    v1::LogitsTensor& logits = *request_.mutable_logits();
    logits.set_vocab_size(plan_.vocab_size);
    logits.set_row_count(plan_.rows);
    logits.set_data_type(v1::DATA_TYPE_F32);
    for (std::int32_t row = 0; row < plan_.rows; ++row) {
      request_.add_rows()->set_seed(plan_.seed + static_cast<std::uint64_t>(row) +
                                    (static_cast<std::uint64_t>(number_) << 32));
    }
    if (plan_.candidates > 0) {
      SetCandidates(buffer_->bytes(), v1::DATA_TYPE_F32, plan_.vocab_size, plan_.rows, 0,
                    plan_.candidates, logits);
    }
  }

  void Step(std::int64_t step) {
    request_.set_step(step);
    for (v1::RowSpec& row : *request_.mutable_rows()) row.set_position(step);
    const Clock::time_point sent = Clock::now();
    const auto reply = stream_->Step(request_, {buffer_});
    if (!reply.ok()) return result_.AddFault(reply.status());
    result_.AddStep(Clock::now() - sent, plan_.rows);
    for (const std::int32_t token : reply->token_ids()) {
      hash_ =
          Mix(hash_, static_cast<std::uint64_t>(step) << 32 ^ static_cast<std::uint32_t>(token));
    }
  }

  const LoadPlan& plan_;
  const int number_;
  const std::shared_ptr<RowBuffer> buffer_;
  const std::unique_ptr<SampleStream> stream_;
  LoadResult& result_;
  v1::SampleTokensRequest request_;
  std::uint64_t hash_ = Mix(0xCBF29CE484222325, static_cast<std::uint64_t>(number_));
};

}  // namespace

void LoadResult::AddStep(std::chrono::nanoseconds latency, std::int32_t rows) {
  rows_ += rows;
  const std::lock_guard lock(mutex_);
  latencies_ns_.push_back(latency.count());
}

void LoadResult::AddFault(const absl::Status& status) {
  const std::lock_guard lock(mutex_);
  ++faults_[absl::StatusCodeToString(status.code())];
}

std::int64_t LoadResult::steps() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::int64_t>(latencies_ns_.size());
}

std::map<std::string, std::int64_t> LoadResult::faults() const {
  const std::lock_guard lock(mutex_);
  return faults_;
}

std::int64_t LoadResult::fault_count() const {
  std::int64_t count = 0;
  for (const auto& [code, faults] : this->faults()) count += faults;
  return count;
}

std::chrono::nanoseconds LoadResult::Percentile(double share) const {
  std::unique_lock lock(mutex_);
  std::vector<std::int64_t> sorted = latencies_ns_;
  lock.unlock();
  if (sorted.empty()) return std::chrono::nanoseconds(0);
  const auto rank = static_cast<std::ptrdiff_t>(share * static_cast<double>(sorted.size() - 1));
  std::nth_element(sorted.begin(), sorted.begin() + rank, sorted.end());
  return std::chrono::nanoseconds(sorted[static_cast<std::size_t>(rank)]);
}

absl::Status RunLoad(const LoadPlan& plan, Client& client, LoadResult& result) {
  const std::size_t bytes = static_cast<std::size_t>(plan.rows) *
                            static_cast<std::size_t>(plan.vocab_size) * sizeof(float);
  std::vector<std::unique_ptr<Worker>> workers;
  for (int number = 0; number < plan.workers; ++number) {
    absl::StatusOr<std::shared_ptr<RowBuffer>> buffer = client.CreateRowBuffer(bytes);
    if (!buffer.ok()) return buffer.status();
    workers.push_back(std::make_unique<Worker>(plan, number, *std::move(buffer), client, result));
  }
  std::vector<std::jthread> threads;
  for (const auto& worker : workers) threads.emplace_back([&] { worker->Run(); });
  threads.clear();  // waits for them
  return absl::OkStatus();
}

}  // namespace tokendraw::cli
