// Package frame is what a Go backend that reads HEP by hand has: structs and encoding/json.
package frame

import (
	"encoding/json"
	"fmt"
)

// The frames of the catalogue that a stream of the benchmark holds.
type (
	Header struct {
		Hep     string `json:"hep"`
		Fah     string `json:"fah"`
		Session string `json:"session"`
	}
	AgentStart struct {
		TurnID int64 `json:"turn_id"`
	}
	MessageDelta struct {
		TurnID int64  `json:"turn_id"`
		Delta  string `json:"delta"`
	}
	ToolStart struct {
		TurnID      int64  `json:"turn_id"`
		ID          string `json:"id"`
		Name        string `json:"name"`
		ArgsSummary string `json:"args_summary"`
	}
	ToolDelta struct {
		TurnID int64  `json:"turn_id"`
		ID     string `json:"id"`
		Update string `json:"update"`
	}
	ToolResult struct {
		ID   string `json:"id"`
		Name string `json:"name"`
		OK   bool   `json:"ok"`
		Text string `json:"text"`
	}
	Usage struct {
		Input  int64   `json:"input"`
		Output int64   `json:"output"`
		Cost   float64 `json:"cost"`
	}
	TurnDone struct {
		TurnID      int64        `json:"turn_id"`
		Message     string       `json:"message"`
		ToolResults []ToolResult `json:"tool_results"`
		Usage       Usage        `json:"usage"`
		StopReason  string       `json:"stop_reason"`
	}
)

// Any is one struct for all types.
type Any struct {
	Type        string       `json:"type"`
	Hep         string       `json:"hep"`
	Fah         string       `json:"fah"`
	Session     string       `json:"session"`
	TurnID      int64        `json:"turn_id"`
	Delta       string       `json:"delta"`
	ID          string       `json:"id"`
	Name        string       `json:"name"`
	ArgsSummary string       `json:"args_summary"`
	Update      string       `json:"update"`
	Message     string       `json:"message"`
	ToolResults []ToolResult `json:"tool_results"`
	Usage       Usage        `json:"usage"`
	StopReason  string       `json:"stop_reason"`
}

// Decode reads the type first, then the type's own struct.
func Decode(line []byte) (any, error) {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return nil, err
	}
	var frame any
	switch head.Type {
	case "hep_header":
		frame = new(Header)
	case "agent_start":
		frame = new(AgentStart)
	case "message_delta":
		frame = new(MessageDelta)
	case "tool_start":
		frame = new(ToolStart)
	case "tool_delta":
		frame = new(ToolDelta)
	case "turn_done":
		frame = new(TurnDone)
	default:
		return nil, fmt.Errorf("unknown type %q", head.Type)
	}
	return frame, json.Unmarshal(line, frame)
}
