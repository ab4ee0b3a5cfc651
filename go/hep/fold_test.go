package hep_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	eventv1 "github.com/hep-bridge/hep-bridge/gen/go/hep/event/v1"
	framev1 "github.com/hep-bridge/hep-bridge/gen/go/hep/frame/v1"
	"github.com/hep-bridge/hep-bridge/go/hep"
)

func apply(fold *hep.Fold, lines ...string) {
	for _, line := range lines {
		fold.Apply(hep.DecodeLine([]byte(line)))
	}
}

const (
	started    = `{"type":"message_start","turn_id":1,"role":"assistant"}`
	firstDelta = `{"type":"message_delta","turn_id":1,"delta":"a"}`
	toolStart  = `{"type":"tool_start","turn_id":1,"id":"c","name":"bash","args_summary":"x=1"}`
)

func turnDone(turn int, message, results, usage string) string {
	return fmt.Sprintf(`{"type":"turn_done","turn_id":%d,"message":"%s","tool_results":[%s],"usage":%s,"stop_reason":"stop"}`, turn, message, results, usage)
}

func TestFoldDropsTheTextOfAnAttemptThatWasGivenUp(t *testing.T) {
	var fold hep.Fold
	apply(&fold, `{"type":"hep_header","hep":"v1","fah":"1","session":"s"}`, `{"type":"agent_start","turn_id":1}`,
		started, `{"type":"message_delta","turn_id":1,"delta":"given up"}`, started, firstDelta, firstDelta)
	if fold.Session != "s" || fold.Turn != 1 || fold.State != hep.RoundOpen || fold.Text() != "aa" {
		t.Errorf("session %q, turn %d, state %d, text %q", fold.Session, fold.Turn, fold.State, fold.Text())
	}
}

func TestFoldReplacesAToolsUpdateAndSettlesItWithTheRound(t *testing.T) {
	var fold hep.Fold
	apply(&fold, started,
		`{"type":"tool_delta","turn_id":1,"id":"c","update":"one"}`, toolStart, // parallel calls: the delta may be first
		`{"type":"tool_delta","turn_id":1,"id":"c","update":"one two"}`,
		`{"type":"tool_liveness","turn_id":1,"id":"c","name":"bash","action":"heartbeat","elapsed_ms":5}`,
		`{"type":"tool_start","turn_id":1,"id":"d","name":"read","args_summary":""}`,
		`{"type":"tool_start","turn_id":1,"id":"e","name":"read","args_summary":""}`)
	running := hep.ToolCall{ID: "c", Name: "bash", ArgsSummary: "x=1", Update: "one two", Action: "heartbeat", ElapsedMs: 5}
	if len(fold.Tools) != 3 || fold.Tools[0] != running {
		t.Errorf("tools %+v", fold.Tools)
	}
	apply(&fold, turnDone(1, "", `{"id":"c","name":"bash","ok":true,"text":"r"},{"id":"d","name":"read","ok":false,"text":""}`, `{}`))
	for i, want := range []hep.ToolState{hep.ToolSucceeded, hep.ToolFailed, hep.ToolLost} {
		if fold.Tools[i].State != want {
			t.Errorf("tool %d has state %d, want %d", i, fold.Tools[i].State, want)
		}
	}
	if fold.Tools[0].Result != "r" {
		t.Errorf("result %q", fold.Tools[0].Result)
	}
	apply(&fold, `{"type":"tool_start","turn_id":2,"id":"c","name":"again","args_summary":""}`)
	if len(fold.Tools) != 1 || fold.Tools[0].Name != "again" || fold.Tools[0].Update != "" {
		t.Errorf("the next round's tools are %+v", fold.Tools)
	}
}

func TestFoldTakesTheMessageOverTheDeltas(t *testing.T) {
	var fold hep.Fold
	apply(&fold, started, firstDelta, turnDone(1, "whole", "", `{"input":1,"output":2,"cost":0.5}`), firstDelta)
	if fold.Text() != "whole" || fold.State != hep.RoundDone {
		t.Errorf("text %q, state %d", fold.Text(), fold.State)
	}
	apply(&fold, `{"type":"compaction_start","turn_id":2}`)
	if fold.Turn != 1 || fold.State != hep.RoundDone {
		t.Errorf("a compaction opened round %d", fold.Turn)
	}
}

func TestFoldKeepsTheAnswerWhereLaterRoundsHaveNone(t *testing.T) {
	var fold hep.Fold
	apply(&fold, turnDone(1, "answer", "", `{"input":1,"output":2,"cost":0.5}`), turnDone(2, "", "", `{"input":3,"output":4,"cost":0.25}`),
		`{"type":"turn_error","turn_id":3,"error":"upstream 529","fatal":true}`)
	if fold.Answer != "answer" || fold.Failure != "upstream 529" || fold.State != hep.RoundFailed {
		t.Errorf("answer %q, failure %q, state %d", fold.Answer, fold.Failure, fold.State)
	}
	if usage := fold.Usage; usage.GetInput() != 4 || usage.GetOutput() != 6 || usage.GetCost() != 0.75 {
		t.Errorf("usage %v", usage)
	}
	apply(&fold, turnDone(4, "", "", `{"input":9223372036854775807,"cost":1e308}`), turnDone(5, "", "", `{"cost":1.7e308}`))
	if fold.Usage.GetInput() != math.MaxInt64 || math.IsInf(fold.Usage.GetCost(), 0) {
		t.Errorf("usage %v", fold.Usage)
	}
	apply(&fold, `{"type":"cancelled","turn_id":6}`)
	if fold.State != hep.RoundCancelled || fold.Failure != "" {
		t.Errorf("state %d, failure %q", fold.State, fold.Failure)
	}
}

func TestFoldPassesOverWhatWasAppliedBefore(t *testing.T) {
	var fold hep.Fold
	event := hep.DecodeLine([]byte(firstDelta))
	event.Sequence = 5
	fold.Apply(event)
	fold.Apply(event)
	if fold.Text() != "a" || fold.Sequence != 5 {
		t.Errorf("text %q at %d", fold.Text(), fold.Sequence)
	}
	end := &eventv1.RunFinished{Outcome: eventv1.Outcome_OUTCOME_LOST}
	fold.Apply(&eventv1.Event{Sequence: 6, Payload: &eventv1.Event_CancelRequested{}})
	fold.Apply(&eventv1.Event{Sequence: 7, Payload: &eventv1.Event_RunFinished{RunFinished: end}})
	if !fold.CancelRequested || fold.Finished.GetOutcome() != eventv1.Outcome_OUTCOME_LOST {
		t.Errorf("cancel %v, finished %v", fold.CancelRequested, fold.Finished)
	}
}

func TestFoldIsBoundedWithinARound(t *testing.T) {
	var fold hep.Fold
	big := strings.Repeat("x", 1<<20)
	for i := range 40 {
		delta := &framev1.MessageDelta{TurnId: 1, Delta: big}
		fold.Apply(&eventv1.Event{Payload: &eventv1.Event_MessageDelta{MessageDelta: delta}})
		update := &framev1.ToolDelta{TurnId: 1, Id: strconv.Itoa(i), Update: big}
		fold.Apply(&eventv1.Event{Payload: &eventv1.Event_ToolDelta{ToolDelta: update}})
	}
	held := 0
	for _, tool := range fold.Tools {
		held += len(tool.Update)
	}
	if !fold.TextCut || len(fold.Text()) > 16<<20 || !fold.ToolsCut || held > 32<<20 {
		t.Errorf("text %d cut %v, tools %d cut %v", len(fold.Text()), fold.TextCut, held, fold.ToolsCut)
	}
	apply(&fold, `{"type":"message_delta","turn_id":2,"delta":"next"}`)
	if fold.TextCut || fold.ToolsCut || fold.Text() != "next" {
		t.Errorf("the next round has text %q, cut %v, %v", fold.Text(), fold.TextCut, fold.ToolsCut)
	}
}
