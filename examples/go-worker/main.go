// A worker in a page: prints the finished steps of all runs. Start it twice with the same -durable,
// and the two share them.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os/signal"
	"syscall"

	"github.com/nats-io/nats.go"

	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
	"github.com/hep-bridge/hep-bridge/go/hepworker"
)

func main() {
	url := flag.String("nats-url", nats.DefaultURL, "NATS server of the bridge")
	token := flag.String("token", "", "token of the NATS server")
	creds := flag.String("creds", "", "credentials file of the NATS server")
	name := flag.String("name", "worker", "stands before each line")
	durable := flag.String("durable", "go-worker", "workers with the same one share the steps")
	all := flag.Bool("all", false, "a new durable begins with the oldest step kept")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()

	options := []nats.Option{nats.Name(*name), nats.MaxReconnects(-1)}
	if *token != "" {
		options = append(options, nats.Token(*token))
	}
	if *creds != "" {
		options = append(options, nats.UserCredentials(*creds))
	}
	conn, err := nats.Connect(*url, options...)
	if err != nil {
		log.Fatalf("connect to %s: %v", *url, err)
	}
	defer conn.Close()
	config := hepworker.Config{Durable: *durable, Handler: func(_ context.Context, message *hepworker.Message) error {
		for _, event := range message.Events {
			if text := step(&event); text != "" {
				fmt.Printf("%s: run %s #%d %s\n", *name, event.RunID, event.Sequence, text)
			}
		}
		return nil
	}}
	if *all {
		config.Start = hepworker.StartAll
	}
	if err := hepworker.Run(ctx, conn, config); err != nil {
		log.Fatal(err)
	}
}

// step tells the end of a round or run; "" for other events.
func step(event *hepworker.Event) string {
	switch payload := event.Payload.(type) {
	case *eventv1.Event_TurnDone:
		done := payload.TurnDone
		return fmt.Sprintf("turn %d done: %s, %d tool results, %.40q", done.TurnId, done.StopReason, len(done.ToolResults), done.Message)
	case *eventv1.Event_TurnError:
		return fmt.Sprintf("turn %d failed: %.60q", payload.TurnError.TurnId, payload.TurnError.Error)
	case *eventv1.Event_Cancelled:
		return fmt.Sprintf("turn %d cancelled", payload.Cancelled.TurnId)
	case *eventv1.Event_RunFinished:
		return fmt.Sprintf("run finished: %v", payload.RunFinished.Outcome)
	}
	return ""
}
