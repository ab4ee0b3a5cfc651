// Package hepworker consumes the finished steps of all runs from the bridge's log in NATS JetStream:
// several processes share the work, every run stays in order, and what a dead process had in hand
// goes to another.
//
//	err := hepworker.Run(ctx, conn, hepworker.Config{
//		Durable: "billing",
//		Handler: func(ctx context.Context, message *hepworker.Message) error {
//			for _, event := range message.Events {
//				if done := event.GetTurnDone(); done != nil {
//					// …
//				}
//			}
//			return nil
//		},
//	})
//
// # Guarantee
//
// Every message is handled at least once, and the messages of one run in their order: the handler
// of a run's message begins only after the handler of the one before it returned nil (or that one was
// given up, which OnPoison is told). This holds in one process and over all processes that use the
// same Durable, when a handler fails, when a process dies, and when the broker restarts.
//
// It is got so: the log's 64 partitions are divided into Slices, each with one durable pull consumer
// that gives out one message at a time (MaxAckPending 1), to whichever worker asks. A message that
// was not acknowledged holds its slice; so nothing can overtake it, not even by redelivery. The load
// is shared message by message, and at most Slices handlers run at a time over all workers. A run's
// messages may be handled by different processes in turn: keep no state of a run in memory.
//
// At least once means that a message can come again, e.g. when a process dies after the work and
// before the acknowledgement, or stands still for longer than AckWait while another takes over. So
// make the handler's effect idempotent by run id and sequence: a conditional write, an upsert.
//
// # Cancel
//
// Cancel ends a run over the same connection, so that a worker needs no gRPC.
package hepworker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"time"
)

// Start says where a worker begins that was never started before.
type Start int

const (
	// StartNew begins with what is committed after the first worker's start.
	StartNew Start = iota
	// StartAll begins with the oldest event kept.
	StartAll
)

// Handler does the work on one message. If it returns nil the message is done, else it is delivered
// again after a pause, up to MaxDeliver. It may take as long as it needs: the message is kept from
// others meanwhile. Its context ends DrainTimeout after that of Run, and with ErrLeaseLost if the
// message may have gone to another worker. It is called from several goroutines at once, for
// different runs or partitions.
type Handler func(ctx context.Context, message *Message) error

// Config of Run. All workers of one Durable use the same.
type Config struct {
	// Durable names the work: workers with the same name share it, each other name gets everything
	// once more. Letters, digits, "-" and "_", at most 32.
	Durable string
	// Handler does the work.
	Handler Handler

	// Start counts only for a Durable that the broker does not know yet.
	Start Start
	// IncludeDeltas brings message_delta and tool_delta, too. A busy run commits hundreds of messages
	// a second, and a slice handles one at a time: keep the handler short.
	IncludeDeltas bool
	// IncludeStderr brings StderrChunk, too.
	IncludeStderr bool
	// Tenant whose runs are read; empty = "default".
	Tenant string

	// Slices is how many messages can be in work at a time over all workers, 1 to 64; 0 = 16. Each is a
	// durable consumer on the broker. It cannot be changed later for a Durable.
	Slices int
	// Concurrency bounds the handlers that run at a time in this process; 0 = Slices.
	Concurrency int
	// AckWait is how long a message of a process that died is kept from others; 0 = 10 s. A living
	// handler renews it.
	AckWait time.Duration
	// MaxDeliver is how many times a message is delivered before it is given up; 0 = 10. Deliveries to
	// processes that died count.
	MaxDeliver int
	// RetryDelay is the pause after the first failure of a message; it doubles up to 64 times. 0 = 250 ms.
	RetryDelay time.Duration
	// OnPoison is told of each message before it is given up, with the handler's last error, or
	// ErrWorkersDied. If it returns an error the message is not given up, and its slice stays where it
	// is. Nil logs an error and gives up.
	OnPoison func(ctx context.Context, message *Message, cause error) error
	// DrainTimeout is how long handlers may go on after the end of Run's context; 0 = 10 s.
	DrainTimeout time.Duration
	// Logger gets what cannot be returned; nil = slog.Default().
	Logger *slog.Logger
}

var (
	// ErrNoLog: the NATS server has no stream of a bridge.
	ErrNoLog = errors.New("no stream HEP")
	// ErrConfigChanged: the Durable was made with another Slices, Tenant or choice of classes.
	ErrConfigChanged = errors.New("durable has another configuration")
	// ErrLeaseLost is the cause of a handler's context whose message may be another worker's by now.
	ErrLeaseLost = errors.New("lease of the message ran out")
	// ErrWorkersDied: the message was delivered MaxDeliver times and no handler returned.
	ErrWorkersDied = errors.New("workers died over the message")
)

var durableForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

// withDefaults checks the configuration and fills in what is 0.
func (c Config) withDefaults() (Config, error) {
	if !durableForm.MatchString(c.Durable) {
		return c, fmt.Errorf("hepworker: Durable %q: use 1 to 32 letters, digits, \"-\" or \"_\"", c.Durable)
	}
	if c.Handler == nil {
		return c, errors.New("hepworker: Handler is not set")
	}
	setDefault(&c.Tenant, "default")
	setDefault(&c.Slices, 16)
	if c.Slices < 1 || c.Slices > partitions {
		return c, fmt.Errorf("hepworker: Slices is %d; use 1 to %d", c.Slices, partitions)
	}
	setDefault(&c.Concurrency, c.Slices)
	setDefault(&c.AckWait, 10*time.Second)
	setDefault(&c.MaxDeliver, 10)
	setDefault(&c.RetryDelay, 250*time.Millisecond)
	setDefault(&c.DrainTimeout, 10*time.Second)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c, nil
}

func setDefault[T comparable](field *T, value T) {
	var unset T
	if *field == unset {
		*field = value
	}
}
