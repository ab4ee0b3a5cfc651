package hepworker_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
	framev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/frame/v1"
	"github.com/hep-bridge/hep-bridge/go/hepworker"
)

// server is a nats-server with the bridge's stream.
type server struct {
	url  string
	conn *nats.Conn
	js   jetstream.JetStream

	t       *testing.T
	dir     string
	port    string
	process *exec.Cmd
}

// serverBinary finds bin/nats-server of the repository.
func serverBinary(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for at := dir; at != filepath.Dir(at); at = filepath.Dir(at) {
		binary := filepath.Join(at, "bin", "nats-server")
		if _, err := os.Stat(binary); err == nil {
			return binary
		}
	}
	t.Fatalf("bin/nats-server is in none of the folders above %s: run `make build` in the repository's root", dir)
	return ""
}

func startServer(t *testing.T) *server {
	t.Helper()
	s := &server{t: t, dir: t.TempDir(), port: "-1"}
	s.start()
	t.Cleanup(s.kill)
	conn, err := nats.Connect(s.url, nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	s.conn = conn
	if s.js, err = jetstream.New(conn); err != nil {
		t.Fatal(err)
	}
	_, err = s.js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: "HEP", Subjects: []string{"hep.event.v1.>"}, AllowDirect: true, Compression: jetstream.S2Compression,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// start runs the server and waits until it takes connections.
func (s *server) start() {
	s.t.Helper()
	s.process = exec.Command(serverBinary(s.t), "-js", "-a", "127.0.0.1", "-p", s.port, "-sd", s.dir)
	log, err := s.process.StderrPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if _, address, found := strings.Cut(lines.Text(), "Listening for client connections on "); found {
			s.url = "nats://" + address
		}
		if strings.Contains(lines.Text(), "Server is ready") {
			break
		}
	}
	at, err := url.Parse(s.url)
	if err != nil || at.Port() == "" {
		s.t.Fatalf("nats-server told no address: %q", s.url)
	}
	s.port = at.Port()
	go func() {
		for lines.Scan() {
		}
	}()
}

func (s *server) kill() {
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
}

// run writes a run's messages as the bridge does.
type run struct {
	server    *server
	id        string
	partition int
	sequence  int64
	last      uint64
}

func (s *server) run(id string, partition int) *run {
	return &run{server: s, id: id, partition: partition}
}

// publish stores a body on top of the run's last message.
func (r *run) publish(class string, batch *eventv1.EventBatch) {
	t := r.server.t
	t.Helper()
	body, err := proto.Marshal(batch)
	if err != nil {
		t.Fatal(err)
	}
	subject := fmt.Sprintf("hep.event.v1.default.%d.%s.", r.partition, r.id)
	message := nats.NewMsg(subject + class)
	message.Data = body
	message.Header.Set("Nats-Expected-Last-Subject-Sequence", strconv.FormatUint(r.last, 10))
	message.Header.Set("Nats-Expected-Last-Subject-Sequence-Subject", subject+"*")
	ack, err := r.server.js.PublishMsg(t.Context(), message)
	if err != nil {
		t.Fatal(err)
	}
	r.last = ack.Sequence
}

func (r *run) batch(events ...*eventv1.Event) *eventv1.EventBatch {
	for _, event := range events {
		r.sequence++
		event.Sequence = r.sequence
	}
	return &eventv1.EventBatch{RunId: r.id, ObserveTime: timestamppb.Now(), Class: eventv1.EventClass_EVENT_CLASS_STEP, CanonicalForm: 1, Events: events}
}

func (r *run) step(events ...*eventv1.Event) { r.publish("step", r.batch(events...)) }

func done(message string) *eventv1.Event {
	return &eventv1.Event{Payload: &eventv1.Event_TurnDone{TurnDone: &framev1.TurnDone{TurnId: 1, Message: message}}}
}

func delta(text string) *eventv1.Event {
	return &eventv1.Event{Payload: &eventv1.Event_MessageDelta{MessageDelta: &framev1.MessageDelta{TurnId: 1, Delta: text}}}
}

// work runs a worker until the test's end, or until stop is called.
func (s *server) work(config hepworker.Config) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	conn, err := nats.Connect(s.url, nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	if err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- hepworker.Run(ctx, conn, config) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			s.t.Errorf("worker ended with %v", err)
		}
		conn.Close()
	})
	s.t.Cleanup(stop)
	return stop
}
