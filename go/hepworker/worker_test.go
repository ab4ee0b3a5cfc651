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

	"google.golang.org/protobuf/proto"

	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
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

func TestDeltasAreLeftOutOrBroughtInOrder(t *testing.T) {
	server := startServer(t)
	run := server.run("run", 3)
	run.step(done("x"), delta("a"), done("y"))
	run.publish("delta", run.batch(delta("b")))
	run.step(delta("c"))
	run.step(done("z"))
	steps, all := newDiary(), newDiary()
	server.work(hepworker.Config{Durable: "steps", Start: hepworker.StartAll, Handler: noting(steps, "w")})
	server.work(hepworker.Config{Durable: "all", Start: hepworker.StartAll, IncludeDeltas: true, Handler: noting(all, "w")})
	steps.until(t, func(lines []string) bool { return len(lines) == 3 })
	all.until(t, func(lines []string) bool { return len(lines) == 6 })
	if got := ofRun(steps.read(), "run"); !slices.Equal(got, []string{"1", "3", "6"}) {
		t.Errorf("steps are %v", got)
	}
	if got := ofRun(all.read(), "run"); !slices.Equal(got, counted(6)) {
		t.Errorf("all are %v", got)
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

func TestAPoisonMessageIsToldBeforeItIsGivenUp(t *testing.T) {
	server := startServer(t)
	run := server.run("run", 3)
	for range 3 {
		run.step(done("x"))
	}
	d := newDiary()
	bad := errors.New("cannot be")
	refusals := 1
	server.work(hepworker.Config{
		Durable: "work", Start: hepworker.StartAll, RetryDelay: time.Millisecond, MaxDeliver: 3,
		Handler: func(_ context.Context, message *hepworker.Message) error {
			d.add("w run %d", message.Events[0].Sequence)
			if message.Events[0].Sequence == 2 {
				return bad
			}
			return nil
		},
		OnPoison: func(_ context.Context, message *hepworker.Message, cause error) error {
			d.add("w run poison%d:%v", message.Events[0].Sequence, errors.Is(cause, bad) || errors.Is(cause, hepworker.ErrWorkersDied))
			if refusals--; refusals >= 0 {
				return errors.New("dead letters are full")
			}
			return nil
		},
	})
	d.until(t, func(lines []string) bool { return slices.Contains(lines, "w run 3") })
	want := []string{"1", "2", "2", "2", "poison2:true", "poison2:true", "3"}
	if got := ofRun(d.read(), "run"); !slices.Equal(got, want) {
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

func TestWorkersOutliveARestartOfTheBroker(t *testing.T) {
	server := startServer(t)
	d := newDiary()
	server.work(hepworker.Config{Durable: "work", Start: hepworker.StartAll, AckWait: time.Second, Handler: noting(d, "w")})
	run := server.run("run", 3)
	run.step(done("x"))
	d.until(t, func(lines []string) bool { return len(lines) == 1 })
	server.kill()
	server.start()
	for !server.conn.IsConnected() {
		if err := server.conn.FlushTimeout(5 * time.Second); err != nil && !server.conn.IsReconnecting() {
			t.Fatal(err)
		}
	}
	run.step(done("x"))
	d.until(t, func(lines []string) bool { return slices.Contains(lines, "w run 2") })
}

func TestABigEventIsPutTogetherFromItsParts(t *testing.T) {
	server := startServer(t)
	run := server.run("run", 3)
	run.step(done("x"))
	big := strings.Repeat("long answer ", 100_000)
	event := done(big)
	run.sequence++
	event.Sequence = run.sequence
	whole, err := proto.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	const size = 512 << 10
	count := (len(whole) + size - 1) / size
	for index := range count {
		batch := run.batch()
		batch.Part = &eventv1.EventPart{
			Sequence: event.Sequence, Index: int32(index), Count: int32(count), EventBytes: int64(len(whole)),
			Data: whole[index*size : min((index+1)*size, len(whole))],
		}
		class := "part"
		if index == count-1 {
			class = "step"
		}
		run.publish(class, batch)
	}
	got := make(chan string, 1)
	server.work(hepworker.Config{Durable: "work", Start: hepworker.StartAll, Handler: func(_ context.Context, message *hepworker.Message) error {
		if message.Events[0].Sequence == 2 {
			got <- message.Events[0].GetTurnDone().GetMessage()
		}
		return nil
	}})
	select {
	case text := <-got:
		if text != big {
			t.Errorf("%d bytes of %d", len(text), len(big))
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it did not come")
	}
}

func TestANewDurableBeginsWhereStartSays(t *testing.T) {
	server := startServer(t)
	run := server.run("run", 3)
	run.step(done("before"))
	d := newDiary()
	stop := server.work(hepworker.Config{Durable: "work", Handler: noting(d, "w")})
	for {
		if _, err := server.js.Consumer(t.Context(), "HEP", "work-15"); err == nil {
			break
		}
	}
	run.step(done("after"))
	d.until(t, func(lines []string) bool { return len(lines) == 1 })
	stop()
	run.step(done("meanwhile"))
	server.work(hepworker.Config{Durable: "work", Handler: noting(d, "w")})
	d.until(t, func(lines []string) bool { return len(lines) == 2 })
	if got := ofRun(d.read(), "run"); !slices.Equal(got, []string{"2", "3"}) {
		t.Errorf("handled %v", got)
	}
}

func TestAMistakeInTheConfigurationIsOneClearError(t *testing.T) {
	server := startServer(t)
	ctx := t.Context()
	handler := noting(newDiary(), "w")
	stop := server.work(hepworker.Config{Durable: "work", Handler: handler})
	for {
		if _, err := server.js.Consumer(ctx, "HEP", "work-15"); err == nil {
			break
		}
	}
	err := hepworker.Run(ctx, server.conn, hepworker.Config{Durable: "work", Handler: handler, Slices: 8})
	if !errors.Is(err, hepworker.ErrConfigChanged) {
		t.Errorf("got %v", err)
	}
	if err := hepworker.Run(ctx, server.conn, hepworker.Config{Durable: "a.b", Handler: handler}); err == nil {
		t.Error("a durable with a dot was taken")
	}
	stop()
	if err := server.js.DeleteStream(ctx, "HEP"); err != nil {
		t.Fatal(err)
	}
	err = hepworker.Run(ctx, server.conn, hepworker.Config{Durable: "work", Handler: handler})
	if !errors.Is(err, hepworker.ErrNoLog) {
		t.Errorf("got %v", err)
	}
}
