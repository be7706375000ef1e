"""What a record says, once more in the formats of other people's tools. Nothing here is measured or judged anew."""
