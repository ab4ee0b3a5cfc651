package hepworker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// worker is one Run.
type worker struct {
	Config
	conn   *nats.Conn
	stream jetstream.Stream
	// turns bounds the handlers at work.
	turns chan struct{}
	// handling is the context of the handlers.
	handling context.Context
}

// Run works until ctx ends, then lets the handlers at work finish and returns nil. It makes the
// consumers of the Durable if they are not there. Fails with ErrNoLog, ErrConfigChanged, and when a
// consumer is deleted under it; disconnections are waited for. conn is the caller's, and stays open.
// Give it nats.MaxReconnects(-1), else a broker that is long away ends the worker.
func Run(ctx context.Context, conn *nats.Conn, config Config) error {
	config, err := config.withDefaults()
	if err != nil {
		return err
	}
	js, err := jetstream.New(conn)
	if err != nil {
		return fmt.Errorf("hepworker: %w", err)
	}
	stream, err := js.Stream(ctx, streamName)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("hepworker: %w on %s: start the bridge with this NATS server first", ErrNoLog, conn.ConnectedUrlRedacted())
	}
	if err != nil {
		return fmt.Errorf("hepworker: look up stream %s: %w", streamName, err)
	}
	handling, endHandling := context.WithCancel(context.WithoutCancel(ctx))
	defer endHandling()
	w := &worker{Config: config, conn: conn, stream: stream, turns: make(chan struct{}, config.Concurrency), handling: handling}
	consumers := make([]jetstream.Consumer, config.Slices)
	for slice := range consumers {
		if consumers[slice], err = w.consumer(ctx, slice); err != nil {
			return err
		}
	}
	return w.workAll(ctx, consumers, endHandling)
}

// workAll works on all slices until ctx ends or one fails.
func (w *worker) workAll(ctx context.Context, consumers []jetstream.Consumer, endHandling context.CancelFunc) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	stopDraining := context.AfterFunc(ctx, func() { time.AfterFunc(w.DrainTimeout, endHandling) })
	defer stopDraining()
	var working sync.WaitGroup
	for _, consumer := range consumers {
		working.Go(func() {
			if err := w.work(ctx, consumer); err != nil {
				stop(err)
			}
		})
	}
	working.Wait()
	// The last acknowledgements.
	flushing, done := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer done()
	if err := w.conn.FlushWithContext(flushing); err != nil {
		w.Logger.Warn("hepworker: the last acknowledgements may be lost; their messages come again", "durable", w.Durable, "error", err)
	}
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	return nil
}

// metadataSlices is where a consumer keeps the number of slices it is one of.
const metadataSlices = "hep-slices"

// consumer gives the consumer of a slice, made if it is not there.
func (w *worker) consumer(ctx context.Context, slice int) (jetstream.Consumer, error) {
	name := fmt.Sprintf("%s-%02d", w.Durable, slice)
	wanted := jetstream.ConsumerConfig{
		Durable:        name,
		Description:    "hepworker " + w.Durable,
		AckPolicy:      jetstream.AckExplicitPolicy,
		AckWait:        w.AckWait,
		MaxDeliver:     -1,
		MaxAckPending:  1,
		FilterSubjects: w.filters(slice),
		DeliverPolicy:  jetstream.DeliverNewPolicy,
		Metadata:       map[string]string{metadataSlices: strconv.Itoa(w.Slices)},
	}
	if w.Start == StartAll {
		wanted.DeliverPolicy = jetstream.DeliverAllPolicy
	}
	known, err := w.stream.Consumer(ctx, name)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		// Another worker may make it at this moment, just the same.
		consumer, err := w.stream.CreateConsumer(ctx, wanted)
		if err != nil {
			return nil, fmt.Errorf("hepworker: make consumer %s: %w", name, err)
		}
		return consumer, nil
	}
	if err != nil {
		return nil, fmt.Errorf("hepworker: look up consumer %s: %w", name, err)
	}
	have := known.CachedInfo().Config
	filters := have.FilterSubjects
	if have.FilterSubject != "" {
		filters = []string{have.FilterSubject}
	}
	if have.Metadata[metadataSlices] != wanted.Metadata[metadataSlices] || !slices.Equal(filters, wanted.FilterSubjects) || have.MaxAckPending != 1 {
		return nil, fmt.Errorf("hepworker: %w: consumer %s reads %v in one of %s slices; use these again, or another Durable",
			ErrConfigChanged, name, filters, have.Metadata[metadataSlices])
	}
	if have.AckWait == wanted.AckWait {
		return known, nil
	}
	wanted.DeliverPolicy = have.DeliverPolicy
	consumer, err := w.stream.UpdateConsumer(ctx, wanted)
	if err != nil {
		return nil, fmt.Errorf("hepworker: change consumer %s: %w", name, err)
	}
	return consumer, nil
}
