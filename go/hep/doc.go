// Package hep is the codec of HEP v1, the Harness Event Protocol, as the bridge carries it: a line
// becomes the event that stands for it, and an event gives back the exact bytes of its line. It needs
// neither gRPC nor NATS. The rules are those of docs/protocol.md; the vectors under test/golden hold
// this package and the gateway's own codec to the same meaning.
//
// All functions may be called at once from several goroutines. The types with methods are for one
// goroutine at a time.
package hep
