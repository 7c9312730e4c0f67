// A sum of doubles that keeps the rounding errors of its additions (Neumaier).
#pragma once

#include <cmath>

namespace atbprobe {

class CompensatedSum {
  public:
    void add(double term) {
        const double sum = sum_ + term;
        error_ += std::fabs(sum_) >= std::fabs(term) ? (sum_ - sum) + term : (term - sum) + sum_;
        sum_ = sum;
    }

    // After an infinity or an overflow the kept error is NaN and means nothing.
    double total() const { return std::isfinite(sum_) ? sum_ + error_ : sum_; }

  private:
    double sum_ = 0;
    double error_ = 0;
};

}  // namespace atbprobe
