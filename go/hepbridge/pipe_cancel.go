package hepbridge

import (
	"context"
	"sync"
	"syscall"
	"time"

	bridgev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/bridge/v1"
)

// escalation turns cancel requests into signals: one sequence of them, however many requests come.
type escalation struct {
	agent *agent
	wake  func()

	mu     sync.Mutex
	served map[string]bool
	// sooner brings the graces of later requests; the shorter ones count.
	sooner chan graces
	// reports of the signals, in order; told to the bridge once unheld.
	reports []*bridgev1.IngestSignalled
	held    bool
}

type graces struct{ interrupt, terminate time.Duration }

func newEscalation(agent *agent, wake func()) *escalation {
	return &escalation{agent: agent, wake: wake, served: map[string]bool{}, sooner: make(chan graces, 16)}
}

// begin serves a request; false if it is served already. The first starts the signals, and all are
// reported under its id, those too that come sooner because of a later request.
func (e *escalation) begin(requestID string, within graces) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.served[requestID] || e.agent == nil {
		return false
	}
	first := len(e.served) == 0
	e.served[requestID] = true
	if first {
		go e.run(requestID, within)
		return true
	}
	select {
	case e.sooner <- within:
	default:
		// Sixteen are waiting: one more changes nothing.
	}
	return true
}

func (e *escalation) run(requestID string, within graces) {
	if e.send(requestID, syscall.SIGINT, false) && e.pause(&within, &within.interrupt) &&
		e.send(requestID, syscall.SIGTERM, false) && e.pause(&within, &within.terminate) {
		e.send(requestID, syscall.SIGKILL, true)
	}
}

// pause waits for grace, one of within, which a later request may shorten; false if the agent is gone.
func (e *escalation) pause(within *graces, grace *time.Duration) bool {
	began := time.Now()
	for {
		timer := time.NewTimer(time.Until(began.Add(*grace)))
		select {
		case <-e.agent.exited:
			timer.Stop()
			return false
		case <-timer.C:
			return true
		case sooner := <-e.sooner:
			timer.Stop()
			within.interrupt = min(within.interrupt, sooner.interrupt)
			within.terminate = min(within.terminate, sooner.terminate)
		}
	}
}

// send sends one signal and reports it; false if the agent is gone. Both under one lock: the agent may
// die of the signal before its report is there, and told must not let the exit overtake it.
func (e *escalation) send(requestID string, signal syscall.Signal, group bool) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-e.agent.exited:
		return false
	default:
	}
	err := e.agent.signal(signal, group)
	e.reports = append(e.reports, &bridgev1.IngestSignalled{
		RequestId: requestID, Signal: signalName(signal), ProcessGroup: group, Error: errText(err),
	})
	e.wake()
	return true
}

// report returns the report with this index, nil if there is none that may be told yet.
func (e *escalation) report(index int) *bridgev1.IngestSignalled {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.held || index >= len(e.reports) {
		return nil
	}
	return e.reports[index]
}

// told says whether the first count reports are all there are.
func (e *escalation) told(count int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.held && count >= len(e.reports)
}

func (e *escalation) hold(held bool) {
	e.mu.Lock()
	e.held = held
	e.mu.Unlock()
	e.wake()
}

func signalName(signal syscall.Signal) string {
	switch signal {
	case syscall.SIGINT:
		return "SIGINT"
	case syscall.SIGTERM:
		return "SIGTERM"
	default:
		return "SIGKILL"
	}
}

// cancelWith cancels the run when ctx ends before it does.
func (p *PipedRun) cancelWith(ctx context.Context) {
	select {
	case <-ctx.Done():
		p.cancelHere(context.Cause(ctx))
	case <-p.done:
	}
}

// requestWithin bounds how long the signals' reports wait for the request to be in the log.
const requestWithin = 5 * time.Second

// cancelHere signals at once, and tells the bridge who asked. The same request comes back from the
// bridge then, and is served already.
func (p *PipedRun) cancelHere(cause error) {
	if p.agent == nil {
		return
	}
	select {
	case <-p.agent.exited:
		return
	default:
	}
	request := &bridgev1.CancelRunRequest{RunId: p.id, RequestId: NewRunID(), Reason: shortened(cause.Error(), 1024)}
	p.cancels.hold(true)
	p.signal(request.RequestId, graces{p.options.InterruptGrace, p.options.TerminateGrace})
	ctx, stop := context.WithTimeout(p.lifetime, requestWithin)
	defer stop()
	// If it fails the signals are in the log all the same.
	_, _ = p.client.runs.CancelRun(ctx, request)
	p.cancels.hold(false)
}

// signal begins the signals of a request.
func (p *PipedRun) signal(requestID string, within graces) {
	p.drain()
	p.cancels.begin(requestID, within)
}

// shortened cuts text to at most limit bytes, between characters.
func shortened(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && text[limit]&0xc0 == 0x80 {
		limit--
	}
	return text[:limit]
}
