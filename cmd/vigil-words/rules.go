package main

import (
	"regexp"
)

// A rule is a phrase that readers stumble over.
type rule struct {
	name   string
	find   string   // a regular expression for a text in one line
	unless string   // a phrase in which this is found is right; "" if none is
	better string   // what to write, and why
	wrong  []string // texts in which the rule finds its phrase once
	right  []string // texts in which it finds nothing
}

// Parts of the expressions.
const (
	// quantity is what may stand before the phrase: "two pages, one of..." is good English.
	quantity = `(?i:all|any|both|each|either|every one|few|half|majority|many|minority|most|much|neither|none|one|several|some|part|parts|two|three|four|five|` +
		`six|seven|eight|nine|ten|(?:a|two) thirds?|(?:the|his|its) (?:first|second|third|last|next|oldest|older|newest|newer|least|greatest|largest|smallest|rest|only one|number|names?))`

	// object is what a causative makes do something: a pronoun, a noun with an article or the like, a plural, the name of
	// a variable or a program.
	object = `(?:it|them|him|itself|others|everything|something|nothing|anything|(?:[a-z]+ )?[a-z]{2,}(?:[^s\W]s|sses)(?: of \w+(?: \w+)?)?|` +
		`(?:an?|the|its|their|each|every|all|some|this|these|those|another|other|any|two|three|one)(?: [\w'-]+){1,4}?|each other|this one|another|one|[b-hj-z]|server i|do|write|vigil|systemd|[A-Z][\w']*(?: [a-z]+)?)`

	// between is in a phrase whose verb is not what the object is made to do: "has a call to make", "has keys that others use".
	between = ` (?:to|that|which|whose|who|what|when|if|no|where|as|than|and|or|in|on|for|with|from|by|they|we|you|may|can|could|must|` +
		`will|would|is|are|was|were|has|have|not|be|been) `

	// act is the infinitive of what the object is made to do. Verbs that are nouns as well, as copy and share, are left out.
	act = `accept|add|agree|allow|answer|ask|be|become|begin|bring|bury|carry|choose|come|continue|decide|divide|do|drop|encode|evict|` +
		`exist|expect|expire|fetch|find|forget|get|give|go|grow|hand|have|hear|ignore|insert|invalidate|join|keep|know|learn|leave|` +
		`listen|load|lose|make|meet|obey|park|receive|remove|replicate|resume|retry|return|see|send|serve|speak|stay|` +
		`subscribe|take|tell|treat|try|vote|wake|work|write`

	// actOrNoun are verbs that are nouns as well, and are no nouns after a pronoun or a plural.
	actOrNoun = `call|change|close|copy|count|end|finish|fail|hold|lead|look|move|open|panic|pass|play|poll|publish|read|run|start|stop|sync|use|visit|wait`

	// done is the participle of what is done with the object.
	done = `accepted|added|applied|asked|built|called|changed|checked|closed|committed|compacted|compiled|copied|counted|` +
		`dropped|evicted|fetched|forgotten|found|gathered|hung|kept|killed|loaded|looked (?:at|up|for)|made|merged|` +
		`moved|opened|pinned|promised|published|read again|recorded|removed|replaced|sent|shared|shown|started|stopped|` +
		`stored|synced|taken|tested|told|undone|uploaded|woken|written`
)

// rules are all of them, those that apply most often first.
var rules = []rule{
	{
		name:   "of which",
		find:   `(?:\b` + quantity + ` )?\bof which\b`,
		unless: `^` + quantity + ` `,
		better: `begin with the thing: "pages that may be missing", "whose", "with"; a quantity may stand before it, as in "one of which"`,
		wrong: []string{
			`Pages are the pages of a value, of which some may be away.`,
			`A path or URL, of which only the path matters.`,
			`returns of which group a slot is, that is, values of which one knows nothing`,
		},
		right: []string{
			`three backups, the oldest of which is first`, `units, none of which has a copy`, `Each of which expires.`,
			`n elements, m of them deleted`, `a value whose pages are missing`,
		},
	},
	{
		name:   "has X do",
		find:   `\b(?i:has|have|had|having) ` + object + ` (?:` + act + `)\b`,
		unless: between,
		better: `name the act: "moves slots", "asks the server to join", "makes clients wait"; the causative is read as a possession first`,
		wrong: []string{
			`grow has groups join while clients write.`, `TransferTo has a member become the leader.`,
			`A leader has them keep their slots.`, `has this server be a group by itself`,
		},
		right: []string{
			`An object has a set of numbers.`, `each domain has a copy`, `A client has the server's attention.`, `It has to keep its slots.`,
			`clients that have sent READONLY`, `The server has keys that expire.`, `which has a list of them`,
		},
	},
	{
		name:   "has X look",
		find:   `\b(?i:has|have|had|having) (?:it|them|time|systemd|things|keys|values|something|everything|nothing|anything|[A-Z][\w']*(?: [a-z]+)?|server i|clients|servers|connections|logs|groups|slots|(?:the )?members|slots of the node|replicas|programs|commands|calls|others|(?:the|a|an|another|this|each|every) (?:[\w'-]+ )?(?:client|clients|server|member|group|leader|replica|run|call|session|owner|watcher|command|worker|model|loop|goroutine|test)) (?:` + actOrNoun + `)\b`,
		better: `name the act: "tells the watcher to look", "ends the run", "makes the call wait"`,
		wrong: []string{
			`gather connects n consumers and has them wait.`, `a token has the watcher look again`, `HandOver has another member lead.`,
		},
		right: []string{
			`the client has a call to make`, `clients have calls`, `members have counts of their own`, `who has the last call`, `it has a closed form`,
		},
	},
	{
		name:   "has X done",
		find:   `\b(?i:has|have|had|having) ` + object + ` (?:` + done + `)\b`,
		unless: between,
		better: `name who does it, or just the act: "moves slots", "queues an object for compaction"`,
		wrong: []string{
			`an object that has a key looked at when the transaction ends`, `MoveSlots has slots moved.`, `await has a function called once there is more`,
			`It has the next one found.`,
		},
		right: []string{
			`a run that has anything left to do`, `the server has written the reply`, `a group that has been called`, `values that have changed since they were stored`,
			`An entry that is gone has this bit set.`,
		},
	},
	{
		name:   "as far as",
		find:   `\bas far as\b`,
		better: `"if", "up to", "as much as", "that are": say the condition or the limit`,
		wrong:  []string{`whether slots can be used, as far as this member knows`, `reads the array as far as it goes`},
		right:  []string{`as long as it is known`, `further on`, `how far it has come`},
	},
	{
		name: "answers",
		find: `\b(?:method|function|call|hash|policy|command|it|they|that|which|and|or|what|,) answers? (?:what|whether|how|which|the same|the|an?|nothing|anything|nil|nan|true|false|0|-1|its|zero)\b` +
			`|^[a-zA-Z.]+ answers (?:what|whether|how|which|the|an?|nothing|anything|nil|true|false|its)\b` +
			`|^[A-Z][A-Z.]+ answers\b`,
		better: `functions return, servers and commands reply; a person, a health check and a page's question have answers`,
		wrong:  []string{`Hash answers the same for equal keys, and answers nothing for others`, `SCHED.COST answers the cost.`, `a count that answers whether there is one`},
		right:  []string{`The microservice answers on a list.`, `the answers of one page`, `does the server answer?`, `questions and answers`},
	},
	{
		name:   "lets go of",
		find:   `\b(?:lets?|letting) go of\b`,
		better: `evicts, frees, drops, releases: the field's verb`,
		wrong:  []string{`Shed lets go of pages.`, `looks at pages that it is to let go of`},
		right:  []string{`lets it go`, `evicts pages`},
	},
	{
		name:   "who",
		find:   `\b(?:servers?|members?|nodes?|leaders?|followers?|replicas?|groups?|pages?|keys?|slots?|values?|process(?:es)?|programs?|calls?|commands?|goroutines?|connections?|sessions?|shards?|files?|workers?),? who\b`,
		better: `"that" or "which": who is for people`,
		wrong:  []string{`the member who leads`, `a call, who waits`},
		right:  []string{`the users who may`, `whoever asks`, `a key whose value changed`},
	},
	{
		name:   "goes on to",
		find:   `\b(?:goes|go|going|went) on to\b`,
		better: `"then", "continues", "still"`,
		wrong:  []string{`The server goes on to run.`},
		right:  []string{`The server goes on.`, `continues to run`},
	},
	{
		name:   "of no",
		find:   `\b(?:is|are|be|was|were) (?:then )?of no (?:more |further )?\w+`,
		unless: ` (?:use|value|interest)$`,
		better: `"has no", "belongs to no", "without": slots without a group`,
		wrong:  []string{`its slots are of no group then`, `a session that is of no client`},
		right:  []string{`an attempt that is of no use`, `slots without a group`},
	},
	{
		name:   "a figure of speech",
		find:   `\b(?i:servers?|slots?)(?: that)? (?:is|are|was|were) on (?:its|their) way\b|\bhow (?:that|it|this) went\b|\bof (?:its|their) own accord\b|\blies buried\b|\bany other client else\b|\bas if they had not\b|\b[Hh]ow far compactions are behind\b`,
		better: `"being moved", "joining", "the result", "by itself", "was removed", "any other client", "compaction lag"`,
		wrong:  []string{`this server is on its way to another group`, `tells the driver how that went`, `the group lies buried`, `before any other client else sees`},
		right:  []string{`a request is on its way`, `reports the result`, `where the group went`, `before any other client sees it`},
	},
	{
		name:   "a private name",
		find:   `\b(?i:twigs?|exorcis(?:e|es|ed|ing)|ghosts?|heralds?)\b`,
		better: `the name of the code: branch page, purge, tombstone, fan-out`,
		wrong:  []string{`a twig of the tree`, `the herald of a channel`},
		right:  []string{`a branch page`, `the fan-out of a channel`},
	},
}

// finding is a phrase in a text.
type finding struct {
	at     int // offset in the text
	phrase string
	rule   *rule
}

// A linter applies rules to texts.
type linter struct {
	rules        []rule
	find, unless []*regexp.Regexp
}

func newLinter(rules []rule) *linter {
	l := &linter{rules: rules}
	for _, r := range rules {
		l.find = append(l.find, regexp.MustCompile(r.find))
		if r.unless == "" {
			r.unless = `^$`
		}
		l.unless = append(l.unless, regexp.MustCompile(r.unless))
	}
	return l
}

// phrases returns what the rules find in a text without line breaks, in the order of rules.
func (l *linter) phrases(text string) (found []finding) {
	for i, re := range l.find {
		for _, m := range re.FindAllStringIndex(text, -1) {
			if phrase := text[m[0]:m[1]]; !l.unless[i].MatchString(phrase) {
				found = append(found, finding{at: m[0], phrase: phrase, rule: &l.rules[i]})
			}
		}
	}
	return found
}
