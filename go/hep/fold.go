package hep

import (
	"math"
	"strings"

	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
	framev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/frame/v1"
)

// maxRoundText bounds what a Fold holds of a round's text, in bytes; no message in one line of the
// default limit is longer.
const maxRoundText = 16 << 20

// Fold is what a run's events so far amount to, for a view of the run. The zero value is a run without
// events. It holds the latest round, the answer and sums, at most about 80 MiB, however long the run.
// For one goroutine at a time; not to be copied once it is in use.
type Fold struct {
	// Sequence is that of the last event applied.
	Sequence int64
	// Session is the harness's session id, "" before the header.
	Session string
	// Turn is the latest round, 0 before the first. State says how it stands.
	Turn  int64
	State RoundState
	// Tools are the calls of the latest round, in the order in which they were first heard of.
	Tools []ToolCall
	// Failure is the error of the latest round if its state is RoundFailed.
	Failure string
	// TextCut says that the round's text ends early, ToolsCut that calls or texts of Tools are
	// missing, each since it was beyond the bound.
	TextCut, ToolsCut bool
	// Answer is the message of the last TurnDone that has one, as RunFinished has it; AnswerSequence
	// is that event's sequence.
	Answer         string
	AnswerSequence int64
	// Usage is the sum over all rounds that said, a lower bound; nil if none did.
	Usage *framev1.Usage
	// CancelRequested says that someone asked for the end.
	CancelRequested bool
	// Finished is the end of the run with its outcome, nil before it.
	Finished *eventv1.RunFinished

	text      strings.Builder
	toolIndex map[string]int // by id
	toolBytes int            // what Tools hold
}

// RoundState is how a round stands.
type RoundState int

// The states of a round. None of them but RoundOpen is the end of the run: another round may follow.
const (
	RoundNone RoundState = iota
	RoundOpen
	RoundDone
	RoundFailed
	RoundCancelled
)

// Text is what the latest round has said: while it is open the deltas since its last message_start,
// for what came before belongs to an attempt that was given up; once it is done, its message, which
// need not be the deltas put together. It costs nothing to call.
func (f *Fold) Text() string { return f.text.String() }

// Apply takes in the run's next event. An event with a sequence that was applied before is passed
// over, so that reading may start again a little earlier than it ended; sequence 0 never is. Frames of
// a round that has ended change nothing but Answer and Usage.
func (f *Fold) Apply(event *eventv1.Event) {
	if sequence := event.GetSequence(); sequence != 0 {
		if sequence <= f.Sequence {
			return
		}
		f.Sequence = sequence
	}
	switch payload := event.GetPayload().(type) {
	case *eventv1.Event_HepHeader:
		if f.Session == "" {
			f.Session = payload.HepHeader.GetSession()
		}
	case *eventv1.Event_TurnDone:
		f.addUsage(payload.TurnDone.GetUsage())
		if message := payload.TurnDone.GetMessage(); message != "" || f.Answer == "" {
			f.Answer, f.AnswerSequence = message, event.GetSequence()
		}
	case *eventv1.Event_CancelRequested:
		f.CancelRequested = true
	case *eventv1.Event_RunFinished:
		f.Finished = payload.RunFinished
		f.loseTools()
	}
	f.applyToRound(event)
}

func (f *Fold) applyToRound(event *eventv1.Event) {
	kind, turn := frameKind(event)
	switch kind {
	case "", "hep_header", "compaction_start", "compaction_end":
		return // a compaction opens no round
	}
	if !f.enter(turn) {
		return
	}
	switch payload := event.GetPayload().(type) {
	case *eventv1.Event_MessageStart:
		f.setText("")
	case *eventv1.Event_MessageDelta:
		f.addText(payload.MessageDelta.GetDelta())
	case *eventv1.Event_ToolStart:
		f.startTool(payload.ToolStart)
	case *eventv1.Event_ToolDelta:
		f.updateTool(payload.ToolDelta)
	case *eventv1.Event_ToolLiveness:
		f.watchTool(payload.ToolLiveness)
	case *eventv1.Event_TurnDone:
		f.State = RoundDone
		f.setText(payload.TurnDone.GetMessage())
		f.settleTools(payload.TurnDone.GetToolResults())
	case *eventv1.Event_TurnError:
		f.State, f.Failure = RoundFailed, payload.TurnError.GetError()
		f.loseTools()
	case *eventv1.Event_Cancelled:
		f.State = RoundCancelled
		f.loseTools()
	}
}

// enter reports whether a frame belongs to the open round, which it opens if it is the first of it. A
// frame without a turn belongs to the round that is open.
func (f *Fold) enter(turn int64) bool {
	if turn > f.Turn {
		f.Turn, f.State, f.Failure = turn, RoundOpen, ""
		f.setText("")
		f.Tools, f.toolIndex, f.toolBytes, f.ToolsCut = nil, nil, 0, false
		return true
	}
	return f.State == RoundOpen && (turn == f.Turn || turn == 0)
}

func (f *Fold) setText(text string) {
	f.text.Reset()
	f.TextCut = false
	f.addText(text)
}

// addText adds nothing behind text that was cut.
func (f *Fold) addText(text string) {
	if f.TextCut || f.text.Len()+len(text) > maxRoundText {
		f.TextCut = true
		return
	}
	f.text.WriteString(text)
}

func (f *Fold) addUsage(round *framev1.Usage) {
	if round == nil {
		return
	}
	if f.Usage == nil {
		f.Usage = &framev1.Usage{}
	}
	f.Usage.Input = addTokens(f.Usage.Input, round.Input)
	f.Usage.Output = addTokens(f.Usage.Output, round.Output)
	if cost := f.Usage.GetCost() + round.GetCost(); round.Cost != nil && !math.IsInf(cost, 0) {
		f.Usage.Cost = &cost
	}
}

// addTokens holds the sum at the field's limits.
func addTokens(sum, round *int64) *int64 {
	if sum == nil || round == nil {
		if sum == nil {
			sum = round
		}
		return sum
	}
	total := *sum + *round
	if *sum > 0 && *round > 0 && total < 0 {
		total = math.MaxInt64
	}
	if *sum < 0 && *round < 0 && total >= 0 {
		total = -math.MaxInt64
	}
	return &total
}
