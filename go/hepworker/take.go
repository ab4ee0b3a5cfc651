package hepworker

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// take handles one message and says to the broker what became of it.
func (w *worker) take(ctx context.Context, stored jetstream.Msg) {
	place, err := stored.Metadata()
	if err != nil {
		w.Logger.Error("hepworker: a message that is not of a consumer", "subject", stored.Subject(), "error", err)
		return
	}
	handling, end := w.lease(stored)
	defer end()
	select {
	case w.turns <- struct{}{}:
		defer func() { <-w.turns }()
	case <-ctx.Done():
		w.say(stored.Nak())
		return
	}
	message, err := w.decode(handling, stored, place)
	if err != nil {
		message = newMessage(stored, place)
	}
	switch {
	case err == nil && len(message.Events) == 0:
	case message.Delivery > w.MaxDeliver:
		if err == nil {
			err = ErrWorkersDied
		}
	case err == nil:
		err = w.Handler(handling, message)
	}
	switch {
	case err == nil:
		w.say(stored.Ack())
	case errors.Is(context.Cause(handling), ErrLeaseLost):
		// It is another's by now.
		w.Logger.Warn("hepworker: lease lost", "durable", w.Durable, "run", message.RunID, "stream_sequence", message.StreamSequence)
	case w.handling.Err() != nil:
		// Stopped, not failed.
		w.say(stored.Nak())
	case message.Delivery >= w.MaxDeliver && w.giveUp(handling, message, err):
		w.say(stored.TermWithReason("given up"))
	default:
		w.Logger.Warn("hepworker: will be tried again", "durable", w.Durable, "run", message.RunID,
			"stream_sequence", message.StreamSequence, "delivery", message.Delivery, "error", err)
		w.say(stored.NakWithDelay(w.RetryDelay << min(message.Delivery-1, 6)))
	}
}

// giveUp tells of a message before it is dropped; false if it must not be.
func (w *worker) giveUp(ctx context.Context, message *Message, cause error) bool {
	if w.OnPoison == nil {
		w.Logger.Error("hepworker: gave up a message", "durable", w.Durable, "run", message.RunID,
			"stream_sequence", message.StreamSequence, "deliveries", message.Delivery, "error", cause)
		return true
	}
	if err := w.OnPoison(ctx, message, cause); err != nil {
		w.Logger.Error("hepworker: OnPoison failed, so the message stays", "durable", w.Durable, "run", message.RunID,
			"stream_sequence", message.StreamSequence, "error", err)
		return false
	}
	return true
}

// say notes that the broker could not be told; the message then comes again.
func (w *worker) say(err error) {
	if err != nil {
		w.Logger.Warn("hepworker: the broker could not be told; the message comes again", "durable", w.Durable, "error", err)
	}
}

// lease keeps the message from other workers until end is called. The context ends when that may
// have failed: this process stood still, or was disconnected, for as long as AckWait.
func (w *worker) lease(stored jetstream.Msg) (ctx context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(w.handling)
	ended := make(chan struct{})
	go func() {
		renewal := time.NewTicker(w.AckWait / 4)
		defer renewal.Stop()
		renewed := time.Now()
		for {
			select {
			case <-ended:
				return
			case <-renewal.C:
			}
			if time.Since(renewed) > w.AckWait {
				cancel(ErrLeaseLost)
				return
			}
			if w.conn.IsConnected() && stored.InProgress() == nil {
				renewed = time.Now()
			}
		}
	}()
	return ctx, func() {
		close(ended)
		cancel(nil)
	}
}
