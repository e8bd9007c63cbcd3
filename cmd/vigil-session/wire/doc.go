// Package wire says what passes between a serving layer and the session
// microservice: names of channels and lists, and the JSON of answers.
//
// A request is a message on the channel
//
//	ss:<command>:<session>:<request>
//
// with the command's payload as its text. Its answer is one element, JSON, of
// the list
//
//	async:<command>:<session>:<request>
//
// Sessions and requests are any bytes but the colon. Both sides are those of
// the demo of the white paper "Making Session Stores more Intelligent with
// Microservices", so that each works with the other's other half.
package wire
