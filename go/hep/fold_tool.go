package hep

import (
	"strings"

	framev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/frame/v1"
)

const (
	// maxToolBytes bounds what a Fold holds of a round's tool calls.
	maxToolBytes = 32 << 20
	// toolCallBytes is what a call takes besides its texts, about.
	toolCallBytes = 256
)

// ToolState is how a tool call stands.
type ToolState int

// The states of a tool call. HEP has no frame for the end of one: the round's TurnDone tells.
const (
	// ToolRunning: no result yet.
	ToolRunning ToolState = iota
	// ToolSucceeded and ToolFailed: the round's TurnDone has a result, whose ok says which.
	ToolSucceeded
	ToolFailed
	// ToolLost: the round ended without a result of the call.
	ToolLost
)

// ToolCall is a tool call of a Fold's round. An id names one call within a round only.
type ToolCall struct {
	ID, Name, ArgsSummary string
	State                 ToolState
	// Update is the latest partial output; each replaces the one before.
	Update string
	// Action is the latest report of the watchdog, "" if there was none, ElapsedMs the time in
	// milliseconds that it gives, which need not grow.
	Action    string
	ElapsedMs int64
	// Result is the text of the result.
	Result string
}

func (f *Fold) startTool(frame *framev1.ToolStart) {
	if tool := f.tool(frame.GetId()); tool != nil {
		f.keep(&tool.Name, frame.GetName())
		f.keep(&tool.ArgsSummary, frame.GetArgsSummary())
	}
}

func (f *Fold) updateTool(frame *framev1.ToolDelta) {
	if tool := f.tool(frame.GetId()); tool != nil {
		f.keep(&tool.Update, frame.GetUpdate())
	}
}

func (f *Fold) watchTool(frame *framev1.ToolLiveness) {
	if tool := f.tool(frame.GetId()); tool != nil {
		f.keep(&tool.Name, frame.GetName())
		f.keep(&tool.Action, frame.GetAction())
		tool.ElapsedMs = frame.GetElapsedMs()
	}
}

func (f *Fold) settleTools(results []*framev1.ToolResult) {
	for _, result := range results {
		tool := f.tool(result.GetId())
		if tool == nil {
			continue
		}
		tool.State = ToolFailed
		if result.GetOk() {
			tool.State = ToolSucceeded
		}
		f.keep(&tool.Name, result.GetName())
		f.keep(&tool.Result, result.GetText())
	}
	f.loseTools()
}

// loseTools is for the end of a round: no result comes any more.
func (f *Fold) loseTools() {
	for i := range f.Tools {
		if f.Tools[i].State == ToolRunning {
			f.Tools[i].State = ToolLost
		}
	}
}

// tool returns the call with an id, which may be told of before its start; nil if it has no room.
func (f *Fold) tool(id string) *ToolCall {
	if at, ok := f.toolIndex[id]; ok {
		return &f.Tools[at]
	}
	if f.toolBytes+toolCallBytes+len(id) > maxToolBytes {
		f.ToolsCut = true
		return nil
	}
	f.toolBytes += toolCallBytes + len(id)
	if f.toolIndex == nil {
		f.toolIndex = make(map[string]int)
	}
	id = strings.Clone(id)
	f.toolIndex[id] = len(f.Tools)
	f.Tools = append(f.Tools, ToolCall{ID: id})
	return &f.Tools[len(f.Tools)-1]
}

// keep replaces a text of a call by a copy of another, since an event's text may be a piece of its
// whole batch.
func (f *Fold) keep(place *string, text string) {
	held := f.toolBytes - len(*place) + len(text)
	if held > maxToolBytes {
		f.ToolsCut = true
		return
	}
	f.toolBytes = held
	if *place != text {
		*place = strings.Clone(text)
	}
}
