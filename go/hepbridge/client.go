// Package hepbridge is the Go client of the HEP bridge: it starts runs, reads their events as they
// are committed, cancels them, and streams an agent that the caller spawned itself (Pipe).
//
//	client, err := hepbridge.Dial("127.0.0.1:4880")
//	run, err := client.StartRun(ctx, hepbridge.StartOptions{Profile: "fa", Prompt: "fix the tests"})
//	for event, err := range run.Events(ctx) {
//		if err != nil {
//			return err
//		}
//		if delta := event.GetMessageDelta(); delta != nil {
//			fmt.Print(delta.Delta)
//		}
//	}
//	result, err := run.Wait(ctx)
//
// Reading survives cuts and restarts of the gateway: it resumes where it was and checks that
// nothing is missing.
package hepbridge

import (
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	bridgev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/bridge/v1"
)

// Client talks to one bridge, or to several behind one name. All methods may be used from several
// goroutines at once.
type Client struct {
	conn     *grpc.ClientConn
	owned    bool
	events   bridgev1.EventServiceClient
	runs     bridgev1.RunServiceClient
	ingest   bridgev1.IngestServiceClient
	retryFor time.Duration
}

// DialOption changes how Dial connects.
type DialOption func(*dialing)

type dialing struct {
	credentials credentials.TransportCredentials
	options     []grpc.DialOption
	retryFor    time.Duration
}

// WithTransportCredentials sets TLS, e.g. credentials.NewTLS. Without it the connection is plain
// text, which is right for loopback only.
func WithTransportCredentials(creds credentials.TransportCredentials) DialOption {
	return func(d *dialing) { d.credentials = creds }
}

// WithGRPC adds options of grpc-go, e.g. grpc.WithPerRPCCredentials for a token.
func WithGRPC(options ...grpc.DialOption) DialOption {
	return func(d *dialing) { d.options = append(d.options, options...) }
}

// WithRetryFor bounds how long StartRun, Get, List, Cancel and the opening of a Pipe are tried
// again while the bridge is unavailable; default 15 s, 0 = one try. Reading events has its own
// option, GiveUpAfter.
func WithRetryFor(limit time.Duration) DialOption {
	return func(d *dialing) { d.retryFor = limit }
}

// Dial makes a client for addr, "host:port" or any target of grpc-go. It does not wait for the
// connection: an address where nobody listens shows as ErrUnavailable of the first call. The caller
// closes the client.
func Dial(addr string, options ...DialOption) (*Client, error) {
	dial := dialing{credentials: insecure.NewCredentials(), retryFor: 15 * time.Second}
	for _, option := range options {
		option(&dial)
	}
	// grpc-go backs off up to 2 minutes between connects; a bridge that restarts is back sooner.
	connect := grpc.ConnectParams{
		Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 5 * time.Second},
		MinConnectTimeout: 5 * time.Second,
	}
	conn, err := grpc.NewClient(addr, append([]grpc.DialOption{
		grpc.WithTransportCredentials(dial.credentials),
		grpc.WithConnectParams(connect),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 15 * time.Second}),
	}, dial.options...)...)
	if err != nil {
		return nil, fmt.Errorf("hepbridge: dial %s: %w", addr, err)
	}
	client := NewClient(conn)
	client.owned = true
	client.retryFor = dial.retryFor
	return client, nil
}

// NewClient uses a connection that the caller made and closes.
func NewClient(conn *grpc.ClientConn) *Client {
	return &Client{
		conn:     conn,
		events:   bridgev1.NewEventServiceClient(conn),
		runs:     bridgev1.NewRunServiceClient(conn),
		ingest:   bridgev1.NewIngestServiceClient(conn),
		retryFor: 15 * time.Second,
	}
}

// Close ends all calls of the client that still run; safe twice. A client of NewClient leaves its
// connection open.
func (c *Client) Close() error {
	if !c.owned {
		return nil
	}
	// The only error is that it was closed before.
	_ = c.conn.Close()
	return nil
}
