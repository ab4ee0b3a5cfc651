package hepworker_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/hep-bridge/hep-bridge/go/hepworker"
)

// A test that kills a worker needs one in a process of its own: this program again.
const childEnv = "HEPWORKER_TEST_NATS"

func TestMain(m *testing.M) {
	if url := os.Getenv(childEnv); url != "" {
		childWorker(url)
		return
	}
	os.Exit(m.Run())
}

// childWorker prints what it handles, and stops for ever in the first event with the text "hang".
func childWorker(url string) {
	conn, err := nats.Connect(url)
	if err != nil {
		fmt.Println("error", err)
		return
	}
	err = hepworker.Run(context.Background(), conn, hepworker.Config{
		Durable: "work", Start: hepworker.StartAll, AckWait: time.Second,
		Handler: func(_ context.Context, message *hepworker.Message) error {
			for _, event := range message.Events {
				fmt.Println("handle", event.RunID, event.Sequence)
				if event.GetTurnDone().GetMessage() == "hang" {
					select {}
				}
			}
			return nil
		},
	})
	fmt.Println("error", err)
}

// diary notes what handlers did, and wakes who waits for it.
type diary struct {
	mu      sync.Mutex
	changed chan struct{}
	lines   []string
}

func newDiary() *diary { return &diary{changed: make(chan struct{})} }

func (d *diary) add(format string, values ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, values...))
	close(d.changed)
	d.changed = make(chan struct{})
}

func (d *diary) read() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.lines...)
}

// until waits until what was noted fulfils the condition.
func (d *diary) until(t *testing.T, condition func(lines []string) bool) {
	t.Helper()
	limit := time.After(30 * time.Second)
	for {
		d.mu.Lock()
		holds, changed := condition(d.lines), d.changed
		d.mu.Unlock()
		if holds {
			return
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("it did not come to it; so far: %q", d.read())
		}
	}
}
