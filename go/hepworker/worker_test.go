package hepworker_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
	"github.com/hep-bridge/hep-bridge/go/hepworker"
)

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
