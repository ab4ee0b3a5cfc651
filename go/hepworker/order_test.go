package hepworker_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hep-bridge/hep-bridge/go/hepworker"
)

// noting is a handler that notes worker, run and sequence of each event.
func noting(d *diary, name string) hepworker.Handler {
	return func(_ context.Context, message *hepworker.Message) error {
		for _, event := range message.Events {
			d.add("%s %s %d", name, event.RunID, event.Sequence)
		}
		return nil
	}
}

// ofRun gives the sequences of a run in the order of their handling.
func ofRun(lines []string, run string) []string {
	var all []string
	for _, line := range lines {
		if fields := strings.Fields(line); fields[1] == run {
			all = append(all, fields[2])
		}
	}
	return all
}

func counted(n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprint(i+1))
	}
	return all
}

func TestTwoWorkersShareAllRunsAndEachRunStaysInOrder(t *testing.T) {
	server := startServer(t)
	const runs, steps = 8, 25
	for i := range runs {
		run := server.run(fmt.Sprintf("run%d", i), i*7%64)
		for range steps {
			run.step(done("x"))
		}
	}
	d := newDiary()
	for _, name := range []string{"a", "b"} {
		server.work(hepworker.Config{Durable: "work", Start: hepworker.StartAll, Handler: noting(d, name)})
	}
	d.until(t, func(lines []string) bool { return len(lines) == runs*steps })
	lines := d.read()
	for i := range runs {
		if got := ofRun(lines, fmt.Sprintf("run%d", i)); !slices.Equal(got, counted(steps)) {
			t.Errorf("run%d was handled as %v", i, got)
		}
	}
	share := 0
	for _, line := range lines {
		if strings.HasPrefix(line, "a ") {
			share++
		}
	}
	if share < runs*steps/8 || share > runs*steps*7/8 {
		t.Errorf("one worker got %d of %d", share, runs*steps)
	}
}

func TestAFailedMessageComesAgainBeforeTheNextOfItsRun(t *testing.T) {
	server := startServer(t)
	run := server.run("run", 3)
	for range 5 {
		run.step(done("x"))
	}
	d := newDiary()
	handler := func(_ context.Context, message *hepworker.Message) error {
		d.add("w run %d", message.Events[0].Sequence)
		if message.Events[0].Sequence == 2 && message.Delivery < 4 {
			return errors.New("not yet")
		}
		return nil
	}
	for range 2 {
		server.work(hepworker.Config{Durable: "work", Start: hepworker.StartAll, RetryDelay: 10 * time.Millisecond, Handler: handler})
	}
	d.until(t, func(lines []string) bool { return len(lines) == 8 })
	if got := ofRun(d.read(), "run"); !slices.Equal(got, []string{"1", "2", "2", "2", "2", "3", "4", "5"}) {
		t.Errorf("handled %v", got)
	}
}

func TestWhatAKilledWorkerHadInHandGoesToAnotherInOrder(t *testing.T) {
	server := startServer(t)
	run := server.run("run", 3)
	run.step(done("x"))
	run.step(done("hang"))
	run.step(done("x"))
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childEnv+"="+server.url)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "handle run 2" {
		if strings.HasPrefix(lines.Text(), "error") {
			t.Fatal(lines.Text())
		}
	}
	d := newDiary()
	server.work(hepworker.Config{Durable: "work", Start: hepworker.StartAll, AckWait: time.Second, Handler: noting(d, "b")})
	for i := 0; len(d.read()) < 10; i++ {
		server.run(fmt.Sprint("other", i), 60).step(done("x"))
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	d.until(t, func(lines []string) bool { return slices.Contains(lines, "b run 3") })
	if got := ofRun(d.read(), "run"); !slices.Equal(got, []string{"2", "3"}) {
		t.Errorf("the other worker handled %v", got)
	}
}

func TestAHandlerMayTakeLongerThanAckWait(t *testing.T) {
	server := startServer(t)
	run := server.run("run", 3)
	run.step(done("x"))
	run.step(done("x"))
	d := newDiary()
	const ackWait = 300 * time.Millisecond
	handler := func(ctx context.Context, message *hepworker.Message) error {
		d.add("w run %d", message.Events[0].Sequence)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(3 * ackWait):
			return nil
		}
	}
	for range 2 {
		server.work(hepworker.Config{Durable: "work", Start: hepworker.StartAll, AckWait: ackWait, Handler: handler})
	}
	d.until(t, func(lines []string) bool { return slices.Contains(lines, "w run 2") })
	if got := ofRun(d.read(), "run"); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("handled %v", got)
	}
}
