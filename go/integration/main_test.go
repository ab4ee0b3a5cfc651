// Package integration tests the Go packages against the real gateway: `bin/hep-bridge serve` with its
// private nats-server. It has no code of its own.
package integration

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
	"github.com/hep-bridge/hep-bridge/go/hepbridge"
)

const root = "../.."

// limit bounds one test's waiting.
const limit = time.Minute

// bridge is a running gateway.
type bridge struct {
	addr    string
	natsURL string
	token   string
	dataDir string
	command *exec.Cmd
}

var shared *bridge

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "hep-go-")
	if err == nil {
		shared, err = serve(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "no bridge to test with (run `make build`):", err)
		os.Exit(1)
	}
	code := m.Run()
	if err := shared.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stop the bridge:", err)
		code = 1
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// serve starts a gateway on dataDir with the profile "sh", whose prompt is a script.
func serve(dataDir string) (*bridge, error) { return serveAt(dataDir, "127.0.0.1:0") }

func serveAt(dataDir, listen string) (*bridge, error) {
	config := filepath.Join(dataDir, "hep-bridge.yaml")
	profile := `{"profiles":{"sh":{"command":["sh","{prompt_file}"],"env_allow":["PATH"]}},"interrupt_grace":"1s","terminate_grace":"1s"}`
	if err := os.WriteFile(config, []byte(profile), 0o600); err != nil {
		return nil, err
	}
	command := exec.Command(filepath.Join(root, "bin", "hep-bridge"), "serve", "--listen", listen,
		"--data-dir", dataDir, "--config", config, "--durability", "process", "--log-level", "error", "-o", "json")
	command.Stderr = os.Stderr
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		return nil, errors.Join(err, command.Wait())
	}
	var ready struct {
		Address string `json:"address"`
		NATSURL string `json:"nats_url"`
		Token   string `json:"nats_token_file"`
	}
	if err := json.Unmarshal(line, &ready); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(ready.Token)
	if err != nil {
		return nil, err
	}
	var state struct {
		Token string `json:"token"`
	}
	if err := json.Unmarshal(text, &state); err != nil {
		return nil, err
	}
	return &bridge{ready.Address, ready.NATSURL, state.Token, dataDir, command}, nil
}

func (b *bridge) stop() error {
	if err := b.command.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return b.command.Wait()
}

func dial(t *testing.T, b *bridge) (context.Context, *hepbridge.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	client, err := hepbridge.Dial(b.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return ctx, client
}

func golden(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "test", "golden", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no %s: %v", pattern, err)
	}
	return files
}

func baseName(file string) string { return strings.SplitN(filepath.Base(file), "-", 2)[0] }

// name tells an event's frame by HEP's type, as far as the tests need it.
func name(event *hepbridge.Event) string {
	switch event.Payload.(type) {
	case *eventv1.Event_AgentStart:
		return "agent_start"
	case *eventv1.Event_MessageDelta:
		return "message_delta"
	case *eventv1.Event_ToolDelta:
		return "tool_delta"
	}
	return "other"
}

// lastPID returns the last of the process ids in text.
func lastPID(t *testing.T, text string) int {
	t.Helper()
	fields := strings.Fields(text)
	pid, err := strconv.Atoi(fields[len(fields)-1])
	if err != nil || pid < 2 {
		t.Fatalf("no process id in %q", text)
	}
	return pid
}
