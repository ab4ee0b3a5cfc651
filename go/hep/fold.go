package hep

import (
	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
	framev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/frame/v1"
)

// Fold is the state of a run after its events so far, for a view of it. The zero value is a run
// without events. It keeps the open round alone: its size is that of one round, not of the run.
type Fold struct {
	// Session is the harness's session id, "" before the header.
	Session string
	// Turn is the open round, 0 if none is open.
	Turn int64
	// Text is what the open round has said so far; the round's TurnDone has the authoritative text.
	Text string
	// Tools are the calls of the open round in the order of their starts.
	Tools []ToolCall
	// LastTurn is the last round that ended well.
	LastTurn *framev1.TurnDone
	// Input and Output are tokens and Cost is US dollars over all rounds: a lower bound.
	Input, Output int64
	Cost          float64
	// CancelRequested says that someone asked for the end.
	CancelRequested bool
	// Finished is the end of the run, nil before it.
	Finished *eventv1.RunFinished
}

// ToolCall is a tool call of the open round.
type ToolCall struct {
	ID, Name, ArgsSummary string
	// Update is the latest partial output; each replaces the one before.
	Update string
	// Liveness is the latest report of the watchdog, nil if there was none.
	Liveness *framev1.ToolLiveness
}

// Apply takes in the run's next event.
func (f *Fold) Apply(event *eventv1.Event) {
	if _, turn := frameKind(event); turn > f.Turn {
		f.Turn, f.Text, f.Tools = turn, "", nil
	}
	switch payload := event.GetPayload().(type) {
	case *eventv1.Event_HepHeader:
		if f.Session == "" {
			f.Session = payload.HepHeader.GetSession()
		}
	case *eventv1.Event_MessageStart:
		f.Text = "" // what came before belongs to an attempt that was given up
	case *eventv1.Event_MessageDelta:
		f.Text += payload.MessageDelta.GetDelta()
	case *eventv1.Event_ToolStart:
		tool := f.tool(payload.ToolStart.GetId())
		tool.Name, tool.ArgsSummary = payload.ToolStart.GetName(), payload.ToolStart.GetArgsSummary()
	case *eventv1.Event_ToolDelta:
		f.tool(payload.ToolDelta.GetId()).Update = payload.ToolDelta.GetUpdate()
	case *eventv1.Event_ToolLiveness:
		tool := f.tool(payload.ToolLiveness.GetId())
		tool.Name, tool.Liveness = payload.ToolLiveness.GetName(), payload.ToolLiveness
	case *eventv1.Event_TurnDone:
		f.LastTurn = payload.TurnDone
		usage := payload.TurnDone.GetUsage()
		f.Input += usage.GetInput()
		f.Output += usage.GetOutput()
		f.Cost += usage.GetCost()
		f.endRound()
	case *eventv1.Event_TurnError, *eventv1.Event_Cancelled:
		f.endRound()
	case *eventv1.Event_CancelRequested:
		f.CancelRequested = true
	case *eventv1.Event_RunFinished:
		f.Finished = payload.RunFinished
		f.endRound()
	}
}

func (f *Fold) endRound() { f.Turn, f.Text, f.Tools = 0, "", nil }

// tool returns the call with an id, which a watchdog's report may name before its start.
func (f *Fold) tool(id string) *ToolCall {
	for i := range f.Tools {
		if f.Tools[i].ID == id {
			return &f.Tools[i]
		}
	}
	f.Tools = append(f.Tools, ToolCall{ID: id})
	return &f.Tools[len(f.Tools)-1]
}
