"""openai.chat"""
