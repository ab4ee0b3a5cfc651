package hepworker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// pullFor is how long one request waits for a message.
	pullFor = 30 * time.Second
	// pullHeartbeat is how often the broker says that a request is still there; after two that did not
	// come it is made anew.
	pullHeartbeat = 2 * time.Second
	// pullAgain is the pause after a request that failed.
	pullAgain = 250 * time.Millisecond
)

// work takes the messages of one slice, one at a time, until ctx ends. It asks for the next only when
// the last is done, so that a busy worker leaves it to others.
func (w *worker) work(ctx context.Context, consumer jetstream.Consumer) error {
	for ctx.Err() == nil {
		err := w.pull(ctx, consumer)
		switch {
		case err == nil || ctx.Err() != nil:
		case errors.Is(err, jetstream.ErrConsumerDeleted), errors.Is(err, jetstream.ErrConsumerNotFound),
			errors.Is(err, jetstream.ErrStreamNotFound), errors.Is(err, nats.ErrConnectionClosed):
			return fmt.Errorf("hepworker: take from consumer %s: %w", consumer.CachedInfo().Name, err)
		default:
			// The broker is away, or has no leader: it will pass.
			select {
			case <-ctx.Done():
			case <-time.After(pullAgain):
			}
		}
	}
	return nil
}

// pull asks for one message and handles it.
func (w *worker) pull(ctx context.Context, consumer jetstream.Consumer) error {
	waiting, stop := context.WithTimeout(ctx, pullFor)
	defer stop()
	batch, err := consumer.Fetch(1, jetstream.FetchContext(waiting), jetstream.FetchHeartbeat(pullHeartbeat))
	if err != nil {
		return err
	}
	for message := range batch.Messages() {
		w.take(ctx, message)
	}
	if err := batch.Error(); err != nil && !errors.Is(err, nats.ErrTimeout) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}
