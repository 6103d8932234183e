"""Everything that talks to Kafka: the pump, the Faust app, wire formats, topic admin."""
