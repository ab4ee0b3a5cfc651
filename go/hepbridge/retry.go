package hepbridge

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

const (
	firstDelay = 50 * time.Millisecond
	longest    = 5 * time.Second
	// doubtfulTries is how many times in a row a doubtful answer is taken for the transport's.
	doubtfulTries = 5
)

// retries counts the failures since the last progress and waits between tries.
type retries struct {
	failures int
	doubtful int
	// limit on the time without progress; negative = none.
	limit time.Duration
	since time.Time
}

func newRetries(limit time.Duration) *retries { return &retries{limit: limit} }

// progress forgets the failures.
func (r *retries) progress() { r.failures, r.doubtful = 0, 0 }

// wait returns nil when the call may be tried again, else the error to give up with.
func (r *retries) wait(ctx context.Context, operation string, err error) error {
	if ctx.Err() != nil {
		return newError(ctx, operation, err)
	}
	now := time.Now()
	if r.failures == 0 {
		r.since = now
	}
	switch patienceWith(err) {
	case final:
		return err
	case doubtful:
		if r.doubtful++; r.doubtful >= doubtfulTries {
			return err
		}
	}
	delay := r.delay(err)
	r.failures++
	if r.limit >= 0 && now.Add(delay).Sub(r.since) > r.limit {
		return err
	}
	select {
	case <-ctx.Done():
		return newError(ctx, operation, err)
	case <-time.After(delay):
		return nil
	}
}

// delay doubles with each failure, up to a limit, with a fifth of jitter either way; what the bridge
// asks for in RetryInfo is the least.
func (r *retries) delay(err error) time.Duration {
	delay := longest
	if r.failures < 7 {
		delay = min(firstDelay<<r.failures, longest)
	}
	delay = time.Duration(float64(delay) * (0.8 + 0.4*rand.Float64()))
	if e := (*Error)(nil); errors.As(err, &e) && e.RetryAfter > 0 {
		delay = max(delay, e.RetryAfter+time.Duration(rand.Float64()*float64(e.RetryAfter)/5))
	}
	return delay
}

// retried calls until it succeeds or the client's patience ends. The request must be idempotent.
func retried[T any](ctx context.Context, c *Client, operation string, call func(context.Context) (T, error)) (T, error) {
	retries := newRetries(c.retryFor)
	for {
		answer, err := call(ctx)
		if err == nil {
			return answer, nil
		}
		err = newError(ctx, operation, err)
		if err := retries.wait(ctx, operation, err); err != nil {
			return answer, err
		}
	}
}
