// Package fakebridge is a bridge in memory for the tests of the SDK: the three services over real
// gRPC, with faults on demand. It keeps bytes and batches as they come and decodes no HEP.
package fakebridge

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	bridgev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/bridge/v1"
	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
)

// Bridge is safe for concurrent use.
type Bridge struct {
	bridgev1.UnimplementedEventServiceServer
	bridgev1.UnimplementedRunServiceServer
	bridgev1.UnimplementedIngestServiceServer

	t      testing.TB
	mu     sync.Mutex
	addr   string
	server *grpc.Server
	// changed is closed and made anew when anything changes.
	changed chan struct{}
	runs    map[string]*Run
	order   []string

	// Fail, if set, is asked before each call with its method's name; an error is the answer.
	Fail func(method string, call int) error
	// CutSubscribeAfter cuts each Subscribe after so many responses; 0 = never.
	CutSubscribeAfter int
	// CutIngestAfter cuts each Ingest call after so many bytes; 0 = never.
	CutIngestAfter int
	// CutAtExit takes the exit of a run and cuts the call instead of answering.
	CutAtExit bool
	// HoldAcks keeps Ingest from acknowledging and reading on.
	HoldAcks bool
	// Rewrite may change a response before it is sent; nil leaves it out.
	Rewrite func(*bridgev1.SubscribeResponse) *bridgev1.SubscribeResponse

	calls    map[string]int
	requests map[string][]any
}

// Run is what the bridge knows of one run.
type Run struct {
	Record   *bridgev1.Run
	Request  *bridgev1.StartRunRequest
	Batches  []*eventv1.EventBatch
	Stdout   []byte
	Stderr   []byte
	Opens    int
	Signals  []*bridgev1.IngestSignalled
	Exit     *bridgev1.IngestExit
	Requests []*bridgev1.CancelRunRequest
	attempt  int
}

// Start serves on loopback until the test ends.
func Start(t testing.TB) *Bridge {
	b := &Bridge{
		t: t, addr: "127.0.0.1:0", changed: make(chan struct{}), runs: map[string]*Run{},
		calls: map[string]int{}, requests: map[string][]any{},
	}
	b.Listen()
	t.Cleanup(b.Stop)
	return b
}

// Addr is "host:port"; the same after Stop and Listen.
func (b *Bridge) Addr() string { return b.addr }

// Listen starts serving, again after Stop.
func (b *Bridge) Listen() {
	listener, err := net.Listen("tcp", b.addr)
	if err != nil {
		b.t.Fatal(err)
	}
	b.addr = listener.Addr().String()
	server := grpc.NewServer()
	bridgev1.RegisterEventServiceServer(server, b)
	bridgev1.RegisterRunServiceServer(server, b)
	bridgev1.RegisterIngestServiceServer(server, b)
	b.Do(func() { b.server = server })
	go func() { _ = server.Serve(listener) }()
}

// Stop cuts all calls; what is known of the runs stays.
func (b *Bridge) Stop() {
	b.mu.Lock()
	server := b.server
	b.mu.Unlock()
	server.Stop()
}

// Do runs change under the lock and wakes all that wait.
func (b *Bridge) Do(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
	close(b.changed)
	b.changed = make(chan struct{})
}

// Until waits until condition holds.
func (b *Bridge) Until(condition func() bool) {
	b.t.Helper()
	if !b.await(b.t.Context(), condition) {
		b.t.Fatal("the test ended before the condition held")
	}
}

// await is Until; false if ctx ended before.
func (b *Bridge) await(ctx context.Context, condition func() bool) bool {
	for {
		b.mu.Lock()
		holds, changed := condition(), b.changed
		b.mu.Unlock()
		if holds {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// Run gives a run, made if it is not there; for use inside Do and Until.
func (b *Bridge) Run(id string) *Run {
	run, ok := b.runs[id]
	if !ok {
		run = &Run{Record: &bridgev1.Run{RunId: id, State: bridgev1.Run_STATE_RUNNING}}
		b.runs[id] = run
		b.order = append(b.order, id)
	}
	return run
}

// Requests gives what a method was asked, in order.
func (b *Bridge) Requests(method string) []any {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.requests[method]
}

// Called says how often a method was; for use inside Do and Until.
func (b *Bridge) Called(method string) int { return b.calls[method] }

// enter notes the call and asks Fail.
func (b *Bridge) enter(method string, request any) error {
	var fail func(string, int) error
	var call int
	b.Do(func() {
		b.calls[method]++
		b.requests[method] = append(b.requests[method], request)
		fail, call = b.Fail, b.calls[method]
	})
	if fail == nil {
		return nil
	}
	return fail(method, call)
}

// Error is a status as the bridge gives it.
func Error(code codes.Code, reason, message string, details ...protoadapt.MessageV1) error {
	details = append(details, &errdetails.ErrorInfo{Reason: reason, Domain: "hep.bridge", Metadata: map[string]string{"fact": "1"}})
	answer, err := status.New(code, message).WithDetails(details...)
	if err != nil {
		panic(fmt.Sprint(err))
	}
	return answer.Err()
}

// RetryAfter is the detail that asks for a pause.
func RetryAfter(delay *durationpb.Duration) *errdetails.RetryInfo {
	return &errdetails.RetryInfo{RetryDelay: delay}
}
