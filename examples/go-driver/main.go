// A backend driver: starts a run from a profile, prints its frames as they come and how it ended.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os/signal"
	"syscall"
	"time"

	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
	"github.com/hep-bridge/hep-bridge/go/hepbridge"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:4880", "address of the bridge")
	profile := flag.String("profile", "fa", "profile of the bridge's configuration")
	prompt := flag.String("prompt", "Say hello.", "what to ask the agent")
	cancelAfter := flag.Duration("cancel-after", 0, "cancel the run after this time; 0 = never")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()

	client, err := hepbridge.Dial(*addr)
	check(err)
	defer client.Close()
	run, err := client.StartRun(ctx, hepbridge.StartOptions{Profile: *profile, Prompt: *prompt})
	check(err)
	fmt.Println("run", run.ID())
	if *cancelAfter > 0 {
		time.AfterFunc(*cancelAfter, func() { _, err := run.Cancel(ctx, "go-driver --cancel-after"); check(err) })
	}
	for event, err := range run.Events(ctx) {
		check(err)
		switch payload := event.Payload.(type) {
		case *eventv1.Event_MessageDelta:
			fmt.Print(payload.MessageDelta.Delta)
		case *eventv1.Event_ToolStart:
			fmt.Printf("\n[tool] %s %s\n", payload.ToolStart.Name, payload.ToolStart.ArgsSummary)
		case *eventv1.Event_TurnDone:
			for _, result := range payload.TurnDone.ToolResults {
				fmt.Printf("[tool] %s ok=%v: %.60q\n", result.Name, result.Ok, result.Text)
			}
			fmt.Printf("\n[turn %d done: %s]\n", payload.TurnDone.TurnId, payload.TurnDone.StopReason)
		case *eventv1.Event_CancelSignalled:
			fmt.Printf("\n[cancel] %s sent\n", payload.CancelSignalled.Signal)
		case *eventv1.Event_RunFinished:
			fmt.Printf("\n%v (%v)\n", payload.RunFinished.Outcome, payload.RunFinished.Reason)
		}
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
