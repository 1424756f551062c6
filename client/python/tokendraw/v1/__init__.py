"""The generated wire contract; its .proto files say what each field means."""
