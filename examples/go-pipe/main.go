// Runs an agent as a child of this program and streams it through a bridge: go-pipe COMMAND ARG…
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/hep-bridge/hep-bridge/go/hepbridge"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:4880", "address of the bridge")
	flag.Parse()
	if flag.NArg() == 0 {
		log.Fatal("name the agent's command, e.g. go-pipe fa --output events")
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	client, err := hepbridge.Dial(*addr)
	check(err)
	defer client.Close()
	run, err := client.Pipe(ctx, exec.Command(flag.Arg(0), flag.Args()[1:]...), hepbridge.PipeOptions{})
	check(err)
	fmt.Println("run", run.ID())
	result, err := run.Wait(context.Background()) // not ctx: a run that Ctrl-C cancels has an end, too
	check(err)
	fmt.Println(result.Outcome, result.Detail)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
